/** What the tasks of the last days used: by day, agent, model and chat. */

import { html } from "../app/vue.js";
import { address } from "../app/router.js";
import { useApp } from "../app/services.js";
import { useResource } from "../app/resource.js";
import { Segments } from "../components/fields.js";
import { Panel } from "../components/panel.js";
import { Empty, Loaded } from "../components/states.js";
import { DayChart } from "./usage/day_chart.js";
import { Shares } from "./usage/shares.js";

const DAYS = ["7", "30", "90"];

export const Usage = {
    props: { query: { type: Object, default: () => ({}) } },
    setup(props) {
        const { t, client, router } = useApp();
        const days = () => (DAYS.includes(props.query.days) ? props.query.days : "30");
        const usage = useResource(
            () => client.get("usage", { days: days(), session: props.query.session }),
            {
                also: () => [days(), props.query.session],
                on: (event) => event.kind === "run.changed",
                spacing: 10_000,
            },
        );
        return () => html`
            <div class="stack">
                <div class="view-head">
                    <h1>${t("nav.usage")}</h1>
                    <${Segments}
                        label=${t("usage.days")}
                        value=${days()}
                        choices=${DAYS.map((value) => ({ value, label: t("usage.days.last", { count: Number(value) }) }))}
                        onChange=${(value) => router.refine({ days: value })}
                    />
                </div>
                ${props.query.session &&
                html`<div class="row">
                    <button type="button" class="chip" onClick=${() => router.refine({ session: "" })}>
                        <span class="cut">${t("runs.session", { name: props.query.session })}</span>
                        <span class="sr-only">${t("runs.widen")}</span>
                        <span aria-hidden="true">×</span>
                    </button>
                </div>`}
                <${Loaded} of=${usage} lines=${8}>
                    ${(found) => (found.days.length === 0 ? nothing(t) : content(t, found, props.query.session))}
                <//>
            </div>
        `;
    },
};

function nothing(t) {
    return html`<${Panel} title=${t("usage.by_day")}>
        <${Empty} icon="chart" title=${t("usage.none")} text=${t("usage.none.text")} />
    <//>`;
}

function content(t, found, session) {
    const link = (row) => address(["usage"], { session: row.session });
    return html`
        <div class="stack">
            <${Totals} days=${found.days} />
            <${Panel} title=${t("usage.by_day")}><${DayChart} days=${found.days} /><//>
            <div class="columns">
                <${Shares} title=${t("usage.by_agent")} rows=${found.agents.map((row) => ({ ...row, name: row.agent || t("usage.no_agent") }))} />
                <${Shares} title=${t("usage.by_model")} rows=${found.models.map((row) => ({ ...row, name: row.model || t("usage.no_model") }))} />
                ${!session &&
                html`<${Shares} title=${t("usage.by_session")} rows=${found.sessions.map((row) => ({ ...row, name: row.title, href: link(row) }))} />`}
            </div>
        </div>
    `;
}

const Totals = {
    props: { days: { type: Array, required: true } },
    setup(props) {
        const { t, texts } = useApp();
        const sum = (key) => props.days.reduce((all, day) => all + day[key], 0);
        return () => {
            const { format } = texts;
            const figures = [
                ["usage.runs", format.number(sum("runs"))],
                ["usage.failed", format.number(sum("failed"))],
                ["usage.input", format.short(sum("input"))],
                ["usage.cached", format.short(sum("cached"))],
                ["usage.output", format.short(sum("output"))],
            ];
            return html`
                <dl class="usage-totals panel">
                    ${figures.map(
                        ([key, value]) => html`<div key=${key}><dt>${t(key)}</dt><dd>${value}</dd></div>`,
                    )}
                </dl>
            `;
        };
    },
};
