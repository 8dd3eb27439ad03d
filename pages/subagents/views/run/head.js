/** The head of a run: whose it is, how it stands, what can be done. */

import { html, shallowRef } from "../../app/vue.js";
import { useAction } from "../../app/actions.js";
import { copyText } from "../../app/copying.js";
import { address } from "../../app/router.js";
import { doer, useStopping } from "../../app/runs.js";
import { useApp } from "../../app/services.js";
import { StateBadge, Tag } from "../../components/badges.js";
import { ActionButton } from "../../components/button.js";
import { Ago, Took } from "../../components/times.js";
import { SteerDialog } from "./steer.js";

export const RunHead = {
    props: { run: { type: Object, required: true } },
    emits: ["changed"],
    setup(props, { emit }) {
        const { t } = useApp();
        const failure = (run) => run.failure && html`
            <div class="banner bad" role="status">
                <span><strong>${run.failure.code}</strong> ${run.failure.message}</span>
            </div>
        `;
        return () => {
            const { run } = props;
            return html`
                <section class="panel run-view-head" aria-labelledby="run-title">
                    <div class="run-line">
                        <h1 id="run-title">${doer(t, run)}</h1>
                        <${StateBadge} state=${run.state} />
                        ${run.position !== null && html`<${Tag}>${t("run.position", { count: run.position })}<//>`}
                        ${run.background && html`<${Tag}>${t("run.background")}<//>`}
                        ${run.cut_short && html`<${Tag} tone="warn" title=${run.cut_short}>${t("run.cut_short")}<//>`}
                        ${run.delivery && html`<${Tag} title=${t("run.delivery.hint")}>${t(`run.delivery.${run.delivery}`)}<//>`}
                        <span class="muted"><${Ago} at=${run.created_at} /></span>
                        ${run.started_at && html`<span class="muted"><${Took} from=${run.started_at} to=${run.finished_at} /></span>`}
                    </div>
                    ${failure(run)}
                    <div class="row"><${Actions} run=${run} onChanged=${() => emit("changed")} /></div>
                </section>
            `;
        };
    },
};

const Actions = {
    props: { run: { type: Object, required: true } },
    emits: ["changed"],
    setup(props, { emit }) {
        const { t, client, notices, router } = useApp();
        const stopping = useStopping();
        const repeating = useAction();
        const steering = shallowRef(false);

        async function stop() {
            if (await stopping.stop(props.run)) emit("changed");
        }
        async function again() {
            const { session, run_id } = props.run;
            let started;
            const work = async () => (started = await client.post("runs/retry", { session, run_id }));
            const done = await repeating.run(work, t("run.retry.done"));
            if (done) router.go(["session", started.session, "run", started.run_id]);
        }
        async function copy(text) {
            if (await copyText(text)) notices.done(t("action.copied"));
            else notices.failed(t("run.copy.failed"));
        }
        return () => {
            const { actions, run_id, last_text, session } = props.run;
            return html`
                ${actions.steer &&
                html`<${ActionButton} icon="send" onPress=${() => (steering.value = true)}>${t("run.steer")}<//>`}
                ${actions.cancel && html`<${ActionButton} icon="stop" busy=${stopping.busy} onPress=${stop}>${t("run.stop")}<//>`}
                ${actions.retry && html`<${ActionButton} icon="retry" busy=${repeating.busy} onPress=${again}>${t("run.retry")}<//>`}
                ${last_text && html`<${ActionButton} icon="copy" onPress=${() => copy(last_text)}>${t("run.copy.result")}<//>`}
                <${ActionButton} icon="copy" onPress=${() => copy(run_id)}>${t("run.copy.id")}<//>
                <a class="button" href=${address(["session", session])}>${t("run.to_session")}</a>
                ${steering.value &&
                html`<${SteerDialog} run=${props.run} onClose=${() => (steering.value = false)} />`}
            `;
        };
    },
};
