/** Telling a run something that it follows from its next step on. */

import { html, shallowRef } from "../../app/vue.js";
import { useAction } from "../../app/actions.js";
import { doer } from "../../app/runs.js";
import { useApp } from "../../app/services.js";
import { ActionButton } from "../../components/button.js";
import { Dialog } from "../../components/dialog.js";
import { LongTextField } from "../../components/fields.js";

export const SteerDialog = {
    props: { run: { type: Object, required: true } },
    emits: ["close"],
    setup(props, { emit }) {
        const { t, client } = useApp();
        const action = useAction();
        const text = shallowRef("");

        async function send(event) {
            event.preventDefault();
            const { session, run_id } = props.run;
            const sent = await action.run(
                () => client.post("runs/steer", { session, run_id, text: text.value }),
                t("run.steer.done"),
            );
            if (sent) emit("close");
        }
        return () => html`
            <${Dialog} title=${t("run.steer.title", { name: doer(t, props.run) })} onClose=${() => emit("close")}>
                <form id="steer" class="form" onSubmit=${send}>
                    <${LongTextField}
                        label=${t("run.steer.label")}
                        hint=${t("run.steer.hint")}
                        value=${text.value}
                        required
                        onChange=${(value) => (text.value = value)}
                    />
                    <div class="dialog-actions">
                        <${ActionButton} onPress=${() => emit("close")}>${t("action.cancel")}<//>
                        <${ActionButton} kind="primary" type="submit" icon="send" busy=${action.busy} disabled=${!text.value.trim()}>
                            ${t("run.steer.send")}
                        <//>
                    </div>
                </form>
            <//>
        `;
    },
};
