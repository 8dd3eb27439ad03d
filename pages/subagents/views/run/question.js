/** The question that a run waits with, and the form that answers it. */

import { html, shallowRef } from "../../app/vue.js";
import { useAction } from "../../app/actions.js";
import { useApp } from "../../app/services.js";
import { ActionButton } from "../../components/button.js";
import { LongTextField } from "../../components/fields.js";
import { Panel } from "../../components/panel.js";

export const RunQuestion = {
    props: { run: { type: Object, required: true } },
    emits: ["changed"],
    setup(props, { emit }) {
        const { t, client } = useApp();
        const action = useAction();
        const answer = shallowRef("");

        async function send(event) {
            event.preventDefault();
            const { session, run_id } = props.run;
            const sent = await action.run(
                () => client.post("runs/answer", { session, run_id, answer: answer.value }),
                t("run.answer.done"),
            );
            if (!sent) return;
            answer.value = "";
            emit("changed");
        }
        return () => html`
            <${Panel} title=${t("run.question.title")}>
                <form class="form" onSubmit=${send}>
                    <p class="plain">${props.run.question}</p>
                    <${LongTextField}
                        label=${t("run.answer.label")}
                        value=${answer.value}
                        rows=${3}
                        required
                        onChange=${(value) => (answer.value = value)}
                    />
                    <div class="row">
                        <${ActionButton} kind="primary" type="submit" icon="send" busy=${action.busy} disabled=${!answer.value.trim()}>
                            ${t("run.answer")}
                        <//>
                    </div>
                </form>
            <//>
        `;
    },
};
