/**
 * Runs as a list of rows that lead to their transcripts; what they wait for can be done right there.
 *
 * `session`: also say in which chat each one is (lists over all chats).
 */

import { html } from "../app/vue.js";
import { useApp } from "../app/services.js";
import { address } from "../app/router.js";
import { doer, UNDER_WAY, useStopping } from "../app/runs.js";
import { shortSession } from "../app/session_name.js";
import { StateBadge, Tag } from "./badges.js";
import { ActionButton, IconButton } from "./button.js";
import { Ago, Took } from "./times.js";

export const RunList = {
    props: { runs: { type: Array, required: true }, session: Boolean, label: { type: String, default: undefined } },
    emits: ["answer", "change"],
    setup(props, { emit }) {
        return () => html`
            <ul class="list tasks" aria-label=${props.label}>
                ${props.runs.map(
                    (run) => html`<${RunRow}
                        key=${`${run.session} ${run.run_id}`}
                        run=${run}
                        session=${props.session}
                        onAnswer=${() => emit("answer", run)}
                        onChange=${() => emit("change")}
                    />`,
                )}
            </ul>
        `;
    },
};

const RunRow = {
    props: { run: { type: Object, required: true }, session: Boolean },
    emits: ["answer", "change"],
    setup(props, { emit }) {
        const { t } = useApp();
        const stopping = useStopping();

        async function stop() {
            if (await stopping.stop(props.run)) emit("change");
        }

        return () => {
            const { run } = props;
            return html`
                <li class="task">
                    <div class="task-main">
                        <div class="task-head">
                            <${StateBadge} state=${run.state} />
                            <a class="task-name" href=${address(["session", run.session, "run", run.run_id])}>
                                ${doer(t, run)}
                            </a>
                            <${Facts} run=${run} />
                        </div>
                        <p class="task-input clamp">${run.input}</p>
                        <${Outcome} run=${run} />
                        ${props.session &&
                        html`<a class="task-session clip" href=${address(["session", run.session])} title=${run.session}>
                            ${shortSession(run.session)}
                        </a>`}
                    </div>
                    <div class="task-side">
                        <${Timing} run=${run} />
                        ${run.state === "waiting" &&
                        html`<${ActionButton} small icon="send" onPress=${() => emit("answer")}>${t("run.answer")}<//>`}
                        ${UNDER_WAY.has(run.state) &&
                        html`<${IconButton}
                            icon="stop"
                            kind="danger"
                            label=${`${t("run.stop")}: ${doer(t, run)}`}
                            disabled=${stopping.busy}
                            onPress=${stop}
                        />`}
                    </div>
                </li>
            `;
        };
    },
};

const Facts = {
    props: { run: { type: Object, required: true } },
    setup(props) {
        const { t } = useApp();
        return () => {
            const { run } = props;
            return html`
                ${run.position && html`<${Tag} tone="accent">${t("run.position", { count: run.position })}<//>`}
                ${run.background && html`<${Tag}>${t("run.background")}<//>`}
                ${run.agent !== null && run.kind !== "delegate" && html`<${Tag}>${t(`run.kind.${run.kind}`)}<//>`}
                ${run.cut_short && html`<${Tag} tone="warn">${t("run.cut_short")}<//>`}
            `;
        };
    },
};

/** The question it asks or why it failed. */
const Outcome = {
    props: { run: { type: Object, required: true } },
    setup(props) {
        const { t } = useApp();
        return () => {
            const { question, failure } = props.run;
            if (question) return html`<p class="task-note warn clamp">${t("run.question", { question })}</p>`;
            if (failure) return html`<p class="task-note bad clamp">${failure.message || failure.code}</p>`;
            return null;
        };
    },
};

const Timing = {
    props: { run: { type: Object, required: true } },
    setup(props) {
        const { t, texts } = useApp();
        return () => {
            const { run } = props;
            const tokens = run.usage?.total ?? 0;
            return html`
                <div class="task-times">
                    <span>
                        ${run.finished_at
                            ? html`<${Ago} at=${run.finished_at} />`
                            : html`<${Took} from=${run.started_at ?? run.created_at} />`}
                    </span>
                    <span>
                        ${run.finished_at && run.started_at && html`<${Took} from=${run.started_at} to=${run.finished_at} />`}
                        ${tokens > 0 && html`<span>${t("run.tokens", { count: tokens, tokens: texts.format.short(tokens) })}</span>`}
                    </span>
                </div>
            `;
        };
    },
};
