/** All chats, the most recently active first. */

import { html, shallowRef } from "../app/vue.js";
import { address } from "../app/router.js";
import { useApp } from "../app/services.js";
import { Tag } from "../components/badges.js";
import { Filters } from "../components/filters.js";
import { Segments } from "../components/fields.js";
import { PagedList } from "../components/paged_list.js";
import { Panel } from "../components/panel.js";
import { Empty } from "../components/states.js";
import { Ago } from "../components/times.js";

export const Sessions = {
    props: { query: { type: Object, default: () => ({}) } },
    setup(props) {
        const { t, client, router, texts } = useApp();
        const total = shallowRef(null);
        const only = () => props.query.only ?? "all";
        const load = (offset, limit) =>
            client.get("sessions", { query: props.query.query ?? "", only: only(), offset, limit });

        const empty = () =>
            props.query.query || only() !== "all"
                ? html`<${Empty} icon="search" title=${t("list.nothing_found")} text=${t("list.nothing_found.text")} />`
                : html`<${Empty} icon="sessions" title=${t("sessions.none")} text=${t("sessions.none.text")} />`;

        return () => html`
            <div class="stack">
                <h1>${t("nav.sessions")}</h1>
                <${Panel} title=${t("sessions.all")} count=${total.value === null ? undefined : texts.format.number(total.value)} flush>
                    <${Filters} label=${t("sessions.search")} value=${props.query.query ?? ""} onSearch=${(query) => router.refine({ query })}>
                        <${Segments}
                            label=${t("sessions.only")}
                            value=${only()}
                            choices=${["all", "live", "failed"].map((value) => ({ value, label: t(`sessions.only.${value}`) }))}
                            onChange=${(value) => router.refine({ only: value === "all" ? "" : value })}
                        />
                    <//>
                    <${PagedList}
                        label=${t("sessions.all")}
                        load=${load}
                        of=${JSON.stringify(props.query)}
                        on=${(event) => event.kind === "run.changed" || event.kind.startsWith("agent.")}
                        onTotal=${(found) => (total.value = found)}
                    >
                        ${{ row: (row) => html`<${SessionRow} row=${row} />`, empty }}
                    <//>
                <//>
            </div>
        `;
    },
};

const SessionRow = {
    props: { row: { type: Object, required: true } },
    setup(props) {
        const { t, texts } = useApp();
        return () => {
            const { row } = props;
            const { format } = texts;
            return html`
                <a class="list-row" href=${address(["session", row.session])}>
                    <span class="list-main">
                        <strong class="cut" title=${row.session} dir="auto">${row.title}</strong>
                        <span class="list-sub cut">
                            ${[
                                row.adapter,
                                t("sessions.agents", { count: row.agents }),
                                t("sessions.runs", { count: row.runs_total }),
                            ]
                                .filter(Boolean)
                                .join(" · ")}
                        </span>
                    </span>
                    <span class="list-tags">
                        ${row.running > 0 && html`<${Tag} tone="accent">${t("sessions.running", { count: row.running })}<//>`}
                        ${row.waiting > 0 && html`<${Tag} tone="warn">${t("sessions.waiting", { count: row.waiting })}<//>`}
                        ${row.queued > 0 && html`<${Tag}>${t("sessions.queued", { count: row.queued })}<//>`}
                        ${row.failed_today > 0 && html`<${Tag} tone="warn">${t("sessions.failed", { count: row.failed_today })}<//>`}
                    </span>
                    <span class="list-end">
                        <span>${t("run.tokens", { count: row.tokens_today, tokens: format.short(row.tokens_today) })}</span>
                        <span class="muted"><${Ago} at=${row.last_active_at} /></span>
                    </span>
                </a>
            `;
        };
    },
};
