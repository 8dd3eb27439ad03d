/** The sub-agents of a chat, each a card, and the dialogs that change them. */

import { html, shallowRef } from "../../app/vue.js";
import { useApp } from "../../app/services.js";
import { useAction } from "../../app/actions.js";
import { ActionButton } from "../../components/button.js";
import { Empty } from "../../components/states.js";
import { AgentCard } from "./agent_card.js";
import { AgentEditor } from "./agent_editor.js";
import { MemoryDialog } from "./memory_dialog.js";

export const Agents = {
    props: { session: { type: String, required: true }, found: { type: Object, required: true } },
    emits: ["change"],
    setup(props, { emit }) {
        const { t, client, notices } = useApp();
        const acting = useAction();
        /** `{kind: "editor"|"memory", agent}`; an editor without an agent makes a new one. */
        const dialog = shallowRef(null);
        const close = () => {
            dialog.value = null;
        };
        const saved = () => {
            close();
            emit("change");
        };

        async function act(path, agent, body, done) {
            const work = () => client.post(path, { session: props.session, name: agent.name, ...body });
            if (await acting.run(work, done)) emit("change");
        }
        async function ask(key, agent) {
            return notices.ask({
                title: t(`agent.${key}.ask`, { name: agent.name }),
                text: t(`agent.${key}.ask.text`),
                action: t(`agent.${key}`),
                danger: true,
            });
        }
        const handlers = {
            onEdit: (agent) => (dialog.value = { kind: "editor", agent }),
            onMemory: (agent) => (dialog.value = { kind: "memory", agent }),
            onProtect: (agent) => act("agents/protect", agent, { protected: !agent.protected }),
            onReset: async (agent) =>
                (await ask("reset", agent)) && act("agents/reset", agent, {}, t("agent.reset.done", { name: agent.name })),
            onRemove: async (agent) =>
                (await ask("remove", agent)) && act("agents/remove", agent, {}, t("agent.remove.done", { name: agent.name })),
        };
        const make = () => html`
            <${ActionButton} kind="primary" icon="plus" onPress=${() => (dialog.value = { kind: "editor", agent: null })}>
                ${t("agent.new")}
            <//>
        `;

        return () => {
            const { agents } = props.found;
            return html`
                <div>
                    ${agents.length === 0
                        ? html`<div class="panel">
                              <${Empty} icon="agents" title=${t("agents.none")} text=${t("agents.none.text")}>${make()}<//>
                          </div>`
                        : html`
                              <div class="agents-head">
                                  <h2 class="sr-only">${t("session.agents")}</h2>
                                  ${make()}
                              </div>
                              <ul class="agents">
                                  ${agents.map(
                                      (agent) => html`<${AgentCard}
                                          key=${agent.name}
                                          agent=${agent}
                                          session=${props.session}
                                          busy=${acting.busy}
                                          ...${handlers}
                                      />`,
                                  )}
                              </ul>
                          `}
                    ${dialog.value?.kind === "editor" &&
                    html`<${AgentEditor} session=${props.session} agent=${dialog.value.agent} onClose=${close} onSaved=${saved} />`}
                    ${dialog.value?.kind === "memory" &&
                    html`<${MemoryDialog} session=${props.session} agent=${dialog.value.agent} onClose=${close} />`}
                </div>
            `;
        };
    },
};
