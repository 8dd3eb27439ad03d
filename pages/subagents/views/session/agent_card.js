/** One sub-agent: what it is for, what it is at, what can be done with it. */

import { html } from "../../app/vue.js";
import { useApp } from "../../app/services.js";
import { address } from "../../app/router.js";
import { StateBadge, Tag } from "../../components/badges.js";
import { IconButton } from "../../components/button.js";
import { Icon } from "../../components/icon.js";
import { Ago } from "../../components/times.js";

const ALL = "*";
/** How many of its runs a card names. */
const SHOWN = 3;

export const AgentCard = {
    props: {
        agent: { type: Object, required: true },
        session: { type: String, required: true },
        busy: Boolean,
    },
    emits: ["edit", "memory", "protect", "reset", "remove"],
    setup(props, { emit }) {
        return () => html`
            <li class="panel agent">
                <${Top} agent=${props.agent} />
                <div class="agent-body">
                    <p class=${["agent-description clamp", { muted: !props.agent.description }]} title=${props.agent.description}>
                        ${props.agent.description || props.agent.system_prompt}
                    </p>
                    <${Work} agent=${props.agent} session=${props.session} />
                    <${Facts} agent=${props.agent} onMemory=${() => emit("memory", props.agent)} />
                </div>
                <footer class="agent-foot">
                    <${Origin} agent=${props.agent} />
                    <${Actions} agent=${props.agent} busy=${props.busy} onAct=${(name) => emit(name, props.agent)} />
                </footer>
            </li>
        `;
    },
};

const Top = {
    props: { agent: { type: Object, required: true } },
    setup(props) {
        const { t } = useApp();
        return () => html`
            <header class="agent-top">
                <h3>${props.agent.name}</h3>
                ${props.agent.protected &&
                html`<span class="agent-lock" title=${t("agent.protected")}>
                    <${Icon} name="lock" /><span class="sr-only">${t("agent.protected")}</span>
                </span>`}
                <${Tag}>${t(`agent.kind.${props.agent.kind}`)}<//>
                <${StateBadge} state=${props.agent.status} />
            </header>
        `;
    },
};

/** The runs it is at and those that wait for it; of many the first. */
const Work = {
    props: { agent: { type: Object, required: true }, session: { type: String, required: true } },
    setup(props) {
        const { t } = useApp();
        return () => {
            const { name, running, queued } = props.agent;
            const all = [...running.map((id) => [id, true]), ...queued.map((id) => [id, false])];
            if (all.length === 0) return null;
            return html`
                <div class="row">
                    ${all.slice(0, SHOWN).map(
                        ([id, works]) => html`<a key=${id} class="chip-link" href=${address(["session", props.session, "run", id])}>
                            <${Icon} name=${works ? "run" : "queue"} />
                            <span class="clip">${t(works ? "agent.works_on" : "agent.in_line", { id })}</span>
                        </a>`,
                    )}
                    ${all.length > SHOWN &&
                    html`<a class="chip-link" href=${address(["runs"], { session: props.session, agent: name })}>
                        ${t("agent.more_runs", { count: all.length - SHOWN })}
                    </a>`}
                </div>
            `;
        };
    },
};

const Facts = {
    props: { agent: { type: Object, required: true } },
    emits: ["memory"],
    setup(props, { emit }) {
        const { t } = useApp();
        const amount = (names, key) => {
            if (names === null || names.includes(ALL)) return t(`agent.${key}.all`);
            return names.length === 0 ? t(`agent.${key}.none`) : t(`agent.${key}.some`, { count: names.length });
        };
        return () => {
            const { agent } = props;
            return html`
                <div class="agent-facts">
                    <${Tag} title=${(agent.tools ?? []).join(", ") || undefined}>${amount(agent.tools, "tools")}<//>
                    <${Tag} title=${(agent.skills ?? []).join(", ") || undefined}>${amount(agent.skills, "skills")}<//>
                    ${agent.provider_id && html`<${Tag} title=${agent.provider_id}>${agent.provider_id}<//>`}
                    ${agent.persona_id && html`<${Tag}>${t("agent.persona", { name: agent.persona_id })}<//>`}
                    ${agent.memory_messages > 0
                        ? html`<button type="button" class="tag tag-button" onClick=${() => emit("memory")}>
                              ${t("agent.memory.count", { count: agent.memory_messages })}
                          </button>`
                        : html`<${Tag}>${t("agent.memory.none")}<//>`}
                </div>
            `;
        };
    },
};

const Origin = {
    props: { agent: { type: Object, required: true } },
    setup(props) {
        const { t } = useApp();
        return () => {
            const { agent } = props;
            if (agent.kind === "static") return html`<p class="agent-origin">${t("agent.static")}</p>`;
            const owner = agent.owner_name || agent.owner;
            return html`<p class="agent-origin clamp" title=${owner}>
                ${owner ? t("agent.made_for", { name: owner }) : t("agent.made")}${" "}<${Ago} at=${agent.created_at} />
            </p>`;
        };
    },
};

const Actions = {
    props: { agent: { type: Object, required: true }, busy: Boolean },
    emits: ["act"],
    setup(props, { emit }) {
        const { t } = useApp();
        /** `why`: the reason for which it cannot be done now. */
        const button = (icon, key, name, why = "", more = {}) => html`
            <${IconButton}
                icon=${icon}
                label=${`${t(key)}: ${props.agent.name}${why && ` (${why})`}`}
                disabled=${props.busy || why !== ""}
                onPress=${() => emit("act", name)}
                ...${more}
            />
        `;
        return () => {
            const { agent } = props;
            const works = agent.running.length + agent.queued.length > 0 ? t("agent.at_work") : "";
            const locked = agent.protected ? t("agent.protected") : works;
            return html`
                <div class="agent-actions">
                    ${agent.memory_messages > 0 && button("reset", "agent.reset", "reset", works)}
                    ${agent.kind === "dynamic" &&
                    html`
                        ${button(
                            agent.protected ? "lock" : "unlock",
                            agent.protected ? "agent.unprotect" : "agent.protect",
                            "protect",
                            "",
                            { pressed: agent.protected },
                        )}
                        ${agent.editable && button("edit", "agent.edit", "edit", works)}
                        ${button("trash", "agent.remove", "remove", locked, { kind: "danger" })}
                    `}
                </div>
            `;
        };
    },
};
