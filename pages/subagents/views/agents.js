/** The bot's own sub-agents, which every chat has: listed, made, changed, removed; AstrBot's own ones are shown. */

import { html, shallowRef } from "../app/vue.js";
import { useAction } from "../app/actions.js";
import { useApp } from "../app/services.js";
import { useResource } from "../app/resource.js";
import { Tag } from "../components/badges.js";
import { ActionButton, IconButton } from "../components/button.js";
import { Panel } from "../components/panel.js";
import { Empty, Loaded } from "../components/states.js";
import { AgentForm } from "./settings/agent_form.js";
import { newEntry } from "./settings/entries.js";
import { CHANGED, problemsBelow } from "./settings/problems.js";

export const Agents = {
    props: { query: { type: Object, default: () => ({}) } },
    setup() {
        const { t, client, notices } = useApp();
        const agents = useResource(() => client.get("static_agents"));
        const action = useAction();
        /**
         * The one that is edited: its number, that of a new one being the length of the list, and the list as it was
         * shown when that began, since what others save may renumber it.
         */
        const edited = shallowRef(null);
        const edit = (index) => (edited.value = { index, seen: agents.data });

        async function save(items, { revision }) {
            try {
                agents.set(await client.post("static_agents/save", { items, revision }));
            } catch (error) {
                if (error.code === CHANGED) await agents.refresh();
                throw error;
            }
        }
        const saveAll = (items, done) => action.run(() => save(items, agents.data), done);

        async function remove(index) {
            const { name } = agents.data.items[index];
            const sure = await notices.ask({
                title: t("static.remove.ask", { name }),
                text: t("static.remove.ask.text"),
                action: t("action.remove"),
                danger: true,
            });
            if (sure) await saveAll(agents.data.items.toSpliced(index, 1), t("static.removed", { name }));
        }
        function move(index, step) {
            const items = [...agents.data.items];
            [items[index], items[index + step]] = [items[index + step], items[index]];
            return saveAll(items);
        }
        const switchOn = (index, enabled) => {
            const agent = agents.data.items[index];
            return saveAll(agents.data.items.with(index, { ...agent, enabled }));
        };
        const tools = (agent, index, { last, isUsable }) => html`
            <div class="row">
                <${IconButton} icon="up" label=${t("static.up", { name: agent.name })} disabled=${index === 0} onPress=${() => move(index, -1)} />
                <${IconButton} icon="down" label=${t("static.down", { name: agent.name })} disabled=${index === last} onPress=${() => move(index, 1)} />
                ${isUsable &&
                html`<${ActionButton} small onPress=${() => switchOn(index, !agent.enabled)}>
                    ${t(agent.enabled ? "static.switch_off" : "static.switch_on")}
                <//>`}
                <${ActionButton} small icon="edit" onPress=${() => edit(index)}>${t("static.edit")}<//>
                <${IconButton} icon="trash" kind="danger" label=${t("static.remove", { name: agent.name })} onPress=${() => remove(index)} />
            </div>
        `;
        const content = (found) => html`
            <div class="stack">
                <${Panel} title=${t("static.own")} count=${found.items.length} flush>
                    ${{
                        actions: () => html`<${ActionButton} small kind="primary" icon="plus" onPress=${() => edit(found.items.length)}>${t("static.new")}<//>`,
                        default: () =>
                            found.items.length === 0
                                ? html`<${Empty} icon="agents" title=${t("static.none")} text=${t("static.none.text")} />`
                                : html`<ul class="list">
                                      ${found.items.map((agent, index) => {
                                          const wrong = Object.values(problemsBelow(found.problems, `items.${index}`));
                                          const place = { last: found.items.length - 1, isUsable: wrong.length === 0 };
                                          return html`<li key=${`${agent.name} ${agent.etag} ${index}`} class="agent-line">
                                              <${AgentSummary} agent=${agent} wrong=${wrong} />
                                              ${tools(agent, index, place)}
                                          </li>`;
                                      })}
                                  </ul>`,
                    }}
                <//>
                ${found.core.length > 0 &&
                html`<${Panel} title=${t("static.core")} count=${found.core.length} flush>
                    <p class="hint panel-note">${t("static.core.text")}</p>
                    <ul class="list">
                        ${found.core.map((agent) => html`<li key=${agent.name} class="agent-line"><${AgentSummary} agent=${agent} /></li>`)}
                    </ul>
                <//>`}
                ${edited.value !== null &&
                form(edited.value)}
            </div>
        `;
        const form = ({ index, seen }) => html`<${AgentForm}
            agent=${seen.items[index] ?? newEntry(seen.schema)}
            index=${index}
            isNew=${index === seen.items.length}
            schema=${seen.schema}
            wrong=${problemsBelow(seen.problems, `items.${index}`)}
            save=${(agent) => save(seen.items.toSpliced(index, 1, agent), seen)}
            onClose=${() => (edited.value = null)}
        />`;
        return () => html`
            <div class="stack">
                <h1>${t("nav.agents")}</h1>
                <${Loaded} of=${agents} lines=${6}>${content}<//>
            </div>
        `;
    },
};

const AgentSummary = {
    props: {
        agent: { type: Object, required: true },
        /** What keeps it from being used. */
        wrong: { type: Array, default: () => [] },
    },
    setup(props) {
        const { t } = useApp();
        return () => {
            const { agent, wrong } = props;
            return html`
                <div class="agent-summary">
                    <div class="row">
                        <strong class="break">${agent.name || t("entries.new")}</strong>
                        ${!agent.enabled && html`<${Tag} tone="warn">${t("static.off")}<//>`}
                        ${agent.persona_id && html`<${Tag}>${t("static.persona", { name: agent.persona_id })}<//>`}
                        ${agent.provider_id && html`<${Tag}>${agent.provider_id}<//>`}
                    </div>
                    <span class="muted break" dir="auto">${agent.description}</span>
                    ${wrong.map((text) => html`<span key=${text} class="problem break">${text}</span>`)}
                </div>
            `;
        };
    },
};
