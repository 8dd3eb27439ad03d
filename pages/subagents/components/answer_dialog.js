/** Answers the question that a waiting run asks. */

import { html, ref } from "../app/vue.js";
import { useApp } from "../app/services.js";
import { useAction } from "../app/actions.js";
import { doer } from "../app/runs.js";
import { ActionButton } from "./button.js";
import { Dialog } from "./dialog.js";
import { LongTextField } from "./fields.js";

export const AnswerDialog = {
    props: { run: { type: Object, required: true } },
    emits: ["close", "answered"],
    setup(props, { emit }) {
        const { t, client } = useApp();
        const answer = ref("");
        const sending = useAction();

        async function send() {
            const { session, run_id } = props.run;
            const work = () => client.post("runs/answer", { session, run_id, answer: answer.value.trim() });
            if (await sending.run(work, t("run.answer.done"))) emit("answered");
        }

        return () => html`
            <${Dialog} title=${t("run.answer.title", { name: doer(t, props.run) })} onClose=${() => emit("close")}>
                ${{
                    default: () => html`
                        <div class="form">
                            <blockquote class="quote">${props.run.question}</blockquote>
                            <${LongTextField}
                                label=${t("run.answer.label")}
                                value=${answer.value}
                                onChange=${(text) => (answer.value = text)}
                            />
                        </div>
                    `,
                    actions: () => html`
                        <${ActionButton} onPress=${() => emit("close")}>${t("action.cancel")}<//>
                        <${ActionButton}
                            kind="primary"
                            icon="send"
                            busy=${sending.busy}
                            disabled=${answer.value.trim() === ""}
                            onPress=${send}
                        >
                            ${t("run.answer")}
                        <//>
                    `,
                }}
            <//>
        `;
    },
};
