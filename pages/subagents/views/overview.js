/** What is going on in all chats now: totals, live runs, the line, what it used today, failures. */

import { html, ref } from "../app/vue.js";
import { useApp } from "../app/services.js";
import { useResource } from "../app/resource.js";
import { AnswerDialog } from "../components/answer_dialog.js";
import { Panel } from "../components/panel.js";
import { RunList } from "../components/run_list.js";
import { Empty, Loaded } from "../components/states.js";
import { Ago } from "../components/times.js";
import { Figures } from "./overview_figures.js";

/** Steps of a run change nothing here. */
const CHANGES = new Set([
    "agent.created",
    "agent.removed",
    "run.changed",
    "task.start",
    "task.end",
    "model.called",
]);

export const Overview = {
    setup() {
        const { t, client } = useApp();
        const overview = useResource(() => client.get("overview"), { on: (event) => CHANGES.has(event.kind) });
        const asked = ref(null);
        const answered = () => {
            asked.value = null;
            overview.refresh();
        };

        return () => html`
            <div>
                <header class="view-head">
                    <div>
                        <h1>${t("nav.overview")}</h1>
                        ${overview.data &&
                        html`<p class="muted small">
                            ${t("overview.version", { version: overview.data.version })} · ${t("overview.started")}${" "}
                            <${Ago} at=${overview.data.started_at} />
                        </p>`}
                    </div>
                </header>
                <${Loaded} of=${overview} lines=${8}>
                    ${(data) => html`
                        <div class="stack">
                            <${Figures} overview=${data} />
                            <${Runs} overview=${data} onAnswer=${(run) => (asked.value = run)} onChange=${overview.refresh} />
                        </div>
                    `}
                <//>
                ${asked.value &&
                html`<${AnswerDialog} run=${asked.value} onClose=${() => (asked.value = null)} onAnswered=${answered} />`}
            </div>
        `;
    },
};

/** The three lists. */
const Runs = {
    props: { overview: { type: Object, required: true } },
    emits: ["answer", "change"],
    setup(props, { emit }) {
        const { t } = useApp();
        const listOf = (runs, empty) =>
            runs.length === 0
                ? html`<${Empty} ...${empty} />`
                : html`<${RunList}
                      runs=${runs}
                      session
                      onAnswer=${(run) => emit("answer", run)}
                      onChange=${() => emit("change")}
                  />`;
        return () => {
            const { live, queue, failures, totals } = props.overview;
            return html`
                <div class="overview-lists">
                    <${Panel} title=${t("overview.live")} count=${totals.running + totals.waiting} flush>
                        ${listOf(live, { icon: "run", title: t("overview.live.none"), text: t("overview.live.none.text") })}
                    <//>
                    <div class="stack">
                        <${Panel} title=${t("overview.queue")} count=${totals.queued} flush>
                            ${listOf(queue, { icon: "queue", title: t("overview.queue.none") })}
                        <//>
                        <${Panel} title=${t("overview.failures")} count=${failures.length} flush>
                            ${listOf(failures, { icon: "check", title: t("overview.failures.none") })}
                        <//>
                    </div>
                </div>
            `;
        };
    },
};
