/** Makes a sub-agent or changes one; its memory stays. */

import { html, nextTick, reactive, ref } from "../../app/vue.js";
import { useApp } from "../../app/services.js";
import { useResource } from "../../app/resource.js";
import { useLeaving } from "../../app/unsaved.js";
import { ActionButton } from "../../components/button.js";
import { Dialog } from "../../components/dialog.js";
import { ChoiceField, LongTextField, SwitchField, TextField } from "../../components/fields.js";
import { Loaded } from "../../components/states.js";
import { Picks } from "./picks.js";

const EDITED = ["system_prompt", "description", "tools", "skills", "provider_id", "workdir"];

function draftOf(agent) {
    return {
        name: agent?.name ?? "",
        system_prompt: agent?.system_prompt ?? "",
        description: agent?.description ?? "",
        tools: [...(agent?.tools ?? [])],
        skills: [...(agent?.skills ?? [])],
        provider_id: agent?.provider_id ?? "",
        workdir: agent?.workdir ?? "",
        protected: agent?.protected ?? false,
    };
}

export const AgentEditor = {
    props: { session: { type: String, required: true }, agent: { type: Object, default: null } },
    emits: ["close", "saved"],
    setup(props, { emit }) {
        const { t, client, notices } = useApp();
        const catalog = useResource(() => client.get("catalog", { session: props.session }));
        const mayLeave = useLeaving();
        const before = draftOf(props.agent);
        const draft = reactive(draftOf(props.agent));
        const problems = ref({});
        const trouble = ref("");
        const busy = ref(false);
        const isChanged = (key) => JSON.stringify(draft[key]) !== JSON.stringify(before[key]);

        async function close() {
            if (await mayLeave(Object.keys(before).some(isChanged))) emit("close");
        }
        function body() {
            if (props.agent === null) return { ...draft };
            return { name: draft.name, ...Object.fromEntries(EDITED.filter(isChanged).map((key) => [key, draft[key]])) };
        }
        async function save(event) {
            event?.preventDefault();
            if (busy.value) return;
            busy.value = true;
            problems.value = {};
            trouble.value = "";
            try {
                await client.post(props.agent ? "agents/edit" : "agents/create", { session: props.session, ...body() });
                notices.done(t(props.agent ? "agent.edit.done" : "agent.new.done", { name: draft.name }));
                emit("saved");
            } catch (error) {
                problems.value = error.fields ?? {};
                if (Object.keys(problems.value).every((key) => !(key in before))) trouble.value = notices.errorText(error);
                await nextTick();
                document.querySelector("#agent-editor [aria-invalid='true']")?.focus();
            } finally {
                busy.value = false;
            }
        }
        const bound = (key) => ({
            label: t(`agent.field.${key}`),
            value: draft[key],
            problem: problems.value[key] ?? "",
            onChange: (value) => (draft[key] = value),
        });
        const providers = (found) => {
            const known = found.providers.map(({ id, model }) => ({ value: id, label: model ? `${id} (${model})` : id }));
            const missing = draft.provider_id && !known.some((each) => each.value === draft.provider_id);
            return [
                { value: "", label: t("agent.field.provider_id.default") },
                ...(missing ? [{ value: draft.provider_id, label: draft.provider_id }] : []),
                ...known,
            ];
        };
        const form = (found) => html`
            <form class="form" id="agent-editor" onSubmit=${save}>
                ${trouble.value && html`<div class="banner bad" role="alert"><span>${trouble.value}</span></div>`}
                ${props.agent === null &&
                html`<${TextField} ...${bound("name")} hint=${t("agent.field.name.hint")} required autofocus />`}
                <${TextField} ...${bound("description")} hint=${t("agent.field.description.hint")} />
                <${LongTextField} ...${bound("system_prompt")} hint=${t("agent.field.system_prompt.hint")} rows=${7} required />
                <div class="form-columns">
                    <${ChoiceField} ...${bound("provider_id")} choices=${providers(found)} />
                    <${TextField} ...${bound("workdir")} hint=${t("agent.field.workdir.hint")} />
                </div>
                <${Picks} ...${bound("tools")} choices=${found.tools} all />
                <${Picks} ...${bound("skills")} choices=${found.skills.map((name) => ({ name }))} />
                ${props.agent === null && html`<${SwitchField} ...${bound("protected")} hint=${t("agent.field.protected.hint")} />`}
            </form>
        `;
        const title = () => (props.agent ? t("agent.edit.title", { name: props.agent.name }) : t("agent.new.title"));

        return () => html`
            <${Dialog} title=${title()} wide onClose=${close}>
                ${{
                    default: () => html`<${Loaded} of=${catalog} lines=${6}>${form}<//>`,
                    actions: () => html`
                        <${ActionButton} onPress=${close}>${t("action.cancel")}<//>
                        <${ActionButton}
                            kind="primary"
                            busy=${busy.value}
                            disabled=${draft.name.trim() === "" || draft.system_prompt.trim() === ""}
                            onPress=${save}
                        >
                            ${t(props.agent ? "action.save" : "agent.new.action")}
                        <//>
                    `,
                }}
            <//>
        `;
    },
};
