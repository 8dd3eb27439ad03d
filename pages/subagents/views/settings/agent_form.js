/** The form of one static sub-agent, in a dialog. */

import { html, nextTick, shallowRef } from "../../app/vue.js";
import { useAction } from "../../app/actions.js";
import { useApp } from "../../app/services.js";
import { useResource } from "../../app/resource.js";
import { useLeaving, useUnsavedGuard } from "../../app/unsaved.js";
import { ActionButton } from "../../components/button.js";
import { Dialog } from "../../components/dialog.js";
import { Dropped } from "./dropped.js";
import { knownNames } from "./known.js";
import { withoutAField } from "./problems.js";
import { Setting } from "./setting.js";

export const AgentForm = {
    props: {
        agent: { type: Object, required: true },
        index: { type: Number, required: true },
        isNew: Boolean,
        schema: { type: Array, required: true },
        /** What is wrong with it as it stands, by dotted key. */
        wrong: { type: Object, default: () => ({}) },
        /** Saves it; rejects with what is wrong. */
        save: { type: Function, required: true },
    },
    emits: ["close"],
    setup(props, { emit }) {
        const { t, client, notices } = useApp();
        const catalog = useResource(() => client.get("catalog"));
        const action = useAction();
        const begun = JSON.stringify(props.agent);
        const agent = shallowRef(structuredClone(JSON.parse(begun)));
        const problems = shallowRef(props.wrong);
        const form = shallowRef(null);
        const isDirty = () => JSON.stringify(agent.value) !== begun;
        const mayLeave = useLeaving();
        useUnsavedGuard(isDirty);

        async function close() {
            if (await mayLeave(isDirty())) emit("close");
        }
        async function submit(event) {
            event.preventDefault();
            problems.value = {};
            const sent = await action.run(send);
            if (Object.keys(problems.value).length > 0) {
                await nextTick();
                form.value?.querySelector('[aria-invalid="true"]')?.focus();
            } else if (sent) {
                notices.done(t("static.saved", { name: agent.value.name }));
                emit("close");
            }
        }
        async function send() {
            try {
                await props.save(agent.value);
            } catch (error) {
                problems.value = error.fields ?? {};
                if (Object.keys(problems.value).length === 0) throw error;
            }
        }
        return () => html`
            <${Dialog} wide title=${props.isNew ? t("static.new") : t("static.edit.title", { name: props.agent.name })} onClose=${close}>
                <form ref=${form} class="form" novalidate onSubmit=${submit}>
                    <${Dropped} problems=${withoutAField(problems.value, `items.${props.index}`, props.schema)} />
                    ${props.schema.map(
                        (field) => html`<${Setting}
                            key=${field.key}
                            field=${field}
                            value=${agent.value[field.key]}
                            problems=${problems.value}
                            at=${`items.${props.index}.${field.key}`}
                            known=${knownNames(catalog.data)}
                            onChange=${(value) => (agent.value = { ...agent.value, [field.key]: value })}
                        />`,
                    )}
                    <div class="dialog-actions">
                        <${ActionButton} onPress=${close}>${t("action.cancel")}<//>
                        <${ActionButton} kind="primary" type="submit" icon="check" busy=${action.busy}>${t("action.save")}<//>
                    </div>
                </form>
            <//>
        `;
    },
};
