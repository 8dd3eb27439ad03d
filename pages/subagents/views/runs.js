/** All tasks of all chats, or of one, newest first. */

import { html, shallowRef } from "../app/vue.js";
import { address } from "../app/router.js";
import { doer } from "../app/runs.js";
import { useApp } from "../app/services.js";
import { StateBadge, Tag } from "../components/badges.js";
import { ActionButton } from "../components/button.js";
import { Choice, Filters } from "../components/filters.js";
import { PagedList } from "../components/paged_list.js";
import { Panel } from "../components/panel.js";
import { Empty } from "../components/states.js";
import { Ago, Took } from "../components/times.js";

const STATES = ["queued", "running", "waiting", "completed", "failed", "timed_out", "cancelled", "interrupted"];
const KINDS = ["delegate", "task", "fork"];
const NARROWED_BY = ["session", "agent", "group"];

export const Runs = {
    props: { query: { type: Object, default: () => ({}) } },
    setup(props) {
        const { t, client, router, texts } = useApp();
        const total = shallowRef(null);
        const load = (offset, limit) => {
            const { session, agent, group, state, kind, query } = props.query;
            return client.get("runs", { session, agent, group, state, kind, query, offset, limit });
        };
        const choices = (prefix, values) => [
            { value: "", label: t(`${prefix}.any`) },
            ...values.map((value) => ({ value, label: t(prefix === "runs.state" ? `state.${value}` : `run.kind.${value}`) })),
        ];
        const isNarrowed = () => Object.values(props.query).some(Boolean);
        const clear = () => router.refine(Object.fromEntries(Object.keys(props.query).map((key) => [key, ""])));

        const narrowed = () => html`
            <div class="narrowed">
                ${NARROWED_BY.filter((key) => props.query[key]).map(
                    (key) => html`
                        <button key=${key} type="button" class="chip" onClick=${() => router.refine({ [key]: "" })}>
                            <span class="cut">${t(`runs.${key}`, { name: props.query[key] })}</span>
                            <span class="sr-only">${t("runs.widen")}</span>
                            <span aria-hidden="true">×</span>
                        </button>
                    `,
                )}
            </div>
        `;
        const empty = () =>
            isNarrowed()
                ? html`<${Empty} icon="search" title=${t("list.nothing_found")} text=${t("list.nothing_found.text")}>
                      <${ActionButton} onPress=${clear}>${t("list.clear")}<//>
                  <//>`
                : html`<${Empty} icon="run" title=${t("runs.none")} text=${t("runs.none.text")} />`;

        return () => html`
            <div class="stack">
                <h1>${t("nav.runs")}</h1>
                <${Panel} title=${t("runs.all")} count=${total.value === null ? undefined : texts.format.number(total.value)} flush>
                    <${Filters} label=${t("runs.search")} value=${props.query.query ?? ""} onSearch=${(query) => router.refine({ query })}>
                        <${Choice}
                            label=${t("runs.state")}
                            value=${props.query.state ?? ""}
                            choices=${choices("runs.state", STATES)}
                            onChoose=${(state) => router.refine({ state })}
                        />
                        <${Choice}
                            label=${t("runs.kind")}
                            value=${props.query.kind ?? ""}
                            choices=${choices("runs.kind", KINDS)}
                            onChoose=${(kind) => router.refine({ kind })}
                        />
                    <//>
                    ${NARROWED_BY.some((key) => props.query[key]) && narrowed()}
                    <${PagedList}
                        label=${t("runs.all")}
                        load=${load}
                        of=${JSON.stringify(props.query)}
                        on=${(event) => event.kind === "run.changed"}
                        onTotal=${(found) => (total.value = found)}
                    >
                        ${{ row: (row) => html`<${RunLine} run=${row} />`, empty }}
                    <//>
                <//>
            </div>
        `;
    },
};

const RunLine = {
    props: { run: { type: Object, required: true } },
    setup(props) {
        const { t, texts } = useApp();
        return () => {
            const { run } = props;
            const tokens = run.usage.total;
            return html`
                <a class="list-row" href=${address(["session", run.session, "run", run.run_id])}>
                    <span class="list-main">
                        <span class="list-title">
                            <strong class="cut" dir="auto">${doer(t, run)}</strong>
                            <${StateBadge} state=${run.state} />
                            ${run.cut_short && html`<${Tag} tone="warn">${t("run.cut_short")}<//>`}
                        </span>
                        <span class="list-sub cut" dir="auto">${run.input}</span>
                    </span>
                    <span class="list-end">
                        <span class="list-figures">
                            ${run.started_at && html`<${Took} from=${run.started_at} to=${run.finished_at} />`}
                            ${tokens > 0 && html`<span>${t("run.tokens", { count: tokens, tokens: texts.format.short(tokens) })}</span>`}
                        </span>
                        <span class="muted"><${Ago} at=${run.created_at} /></span>
                    </span>
                </a>
            `;
        };
    },
};
