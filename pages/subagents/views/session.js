/** One chat: its sub-agents, what they do and did, their notes, its own switches. */

import { html, ref } from "../app/vue.js";
import { useApp } from "../app/services.js";
import { copyText } from "../app/copying.js";
import { useResource } from "../app/resource.js";
import { address } from "../app/router.js";
import { shortSession } from "../app/session_name.js";
import { StateBadge } from "../components/badges.js";
import { IconButton } from "../components/button.js";
import { Icon } from "../components/icon.js";
import { Loaded } from "../components/states.js";
import { Tabs } from "../components/tabs.js";
import { Ago } from "../components/times.js";
import { Agents } from "./session/agents.js";
import { Board } from "./session/board.js";
import { Switches } from "./session/switches.js";
import { Timeline } from "./session/timeline.js";

const CHANGES = /^(agent|run|task)\./;
const TABS = ["agents", "timeline", "board"];

export const Session = {
    props: { session: { type: String, required: true }, query: { type: Object, default: () => ({}) } },
    setup(props) {
        const { t, client, router } = useApp();
        const found = useResource(() => client.get("session", { session: props.session }), {
            key: () => props.session,
            on: (event) => event.session === props.session && CHANGES.test(event.kind),
        });
        const chosen = () => (TABS.includes(props.query.tab) ? props.query.tab : "agents");
        const tabs = (data) => [
            { key: "agents", icon: "agents", label: t("session.agents"), count: data.agents.length },
            { key: "timeline", icon: "timeline", label: t("session.timeline") },
            { key: "board", icon: "board", label: t("session.board"), count: data.board.notes },
        ];

        function content(data) {
            if (chosen() === "timeline") return html`<${Timeline} key=${props.session} session=${props.session} />`;
            if (chosen() === "board") {
                return html`<${Board} key=${props.session} session=${props.session} agents=${data.agents} on=${data.board.on} />`;
            }
            return html`<${Agents} key=${props.session} session=${props.session} found=${data} onChange=${found.refresh} />`;
        }

        return () => html`
            <div>
                <${Head} session=${props.session} row=${found.data?.session ?? null} />
                <${Loaded} of=${found} lines=${8}>
                    ${(data) => html`
                        <${Switches} session=${props.session} found=${data} onChange=${(part) => found.set({ ...data, ...part })} />
                        <${Tabs}
                            label=${t("session.parts")}
                            tabs=${tabs(data)}
                            chosen=${chosen()}
                            onChoose=${(tab) => router.refine({ tab })}
                        >
                            ${content(data)}
                        <//>
                    `}
                <//>
            </div>
        `;
    },
};

const Head = {
    props: { session: { type: String, required: true }, row: { type: Object, default: null } },
    setup(props) {
        const { t, texts } = useApp();
        const copied = ref(false);
        async function copy() {
            copied.value = await copyText(props.session);
            setTimeout(() => (copied.value = false), 2000);
        }
        const states = (row) =>
            ["running", "waiting", "queued"]
                .filter((state) => row[state] > 0)
                .map(
                    (state) => html`<span key=${state} class="row">
                        <${StateBadge} state=${state} /><span class="sr-only">: </span>${texts.format.number(row[state])}
                    </span>`,
                );
        return () => {
            const { row, session } = props;
            return html`
                <header class="view-head">
                    <div>
                        <h1>${row?.title || shortSession(session)}</h1>
                        <p class="session-id">
                            <span class="clip mono muted" title=${session}>${session}</span>
                            <${IconButton}
                                icon=${copied.value ? "check" : "copy"}
                                label=${t(copied.value ? "action.copied" : "action.copy")}
                                onPress=${copy}
                            />
                        </p>
                        ${row &&
                        html`<p class="row muted small session-facts">
                            ${states(row)}
                            <span>${t("session.runs", { count: row.runs_total })}</span>
                            ${row.failed_today > 0 &&
                            html`<span class="bad">${t("session.failed_today", { count: row.failed_today })}</span>`}
                            <span>${t("session.tokens_today", { tokens: texts.format.short(row.tokens_today) })}</span>
                            <span>${t("session.active")}${" "}<${Ago} at=${row.last_active_at} /></span>
                        </p>`}
                    </div>
                    <div class="view-actions">
                        <a class="button" href=${address(["runs"], { session })}><${Icon} name="queue" /><span>${t("session.all_runs")}</span></a>
                    </div>
                </header>
            `;
        };
    },
};
