/** The figures at the top of the overview. */

import { html } from "../app/vue.js";
import { useApp } from "../app/services.js";
import { address } from "../app/router.js";

export const Figures = {
    props: { overview: { type: Object, required: true } },
    setup(props) {
        const { t, texts } = useApp();
        return () => {
            const { totals, today, limits } = props.overview;
            const { format } = texts;
            // What was read from the provider's cache is not part of `input`.
            const read = today.usage.input + today.usage.cached;
            const share = read === 0 ? 0 : today.usage.cached / read;
            return html`
                <div class="figures">
                    <${Figure}
                        title=${t("overview.running")}
                        value=${format.number(totals.running)}
                        note=${t("overview.running.of", { count: limits.max_parallel_total })}
                        part=${limits.max_parallel_total ? totals.running / limits.max_parallel_total : 0}
                        tone=${totals.running > 0 ? "accent" : ""}
                    />
                    <${Figure}
                        title=${t("overview.waiting")}
                        value=${format.number(totals.waiting)}
                        note=${t("overview.waiting.note")}
                        tone=${totals.waiting > 0 ? "warn" : ""}
                    />
                    <${Figure}
                        title=${t("overview.queue")}
                        value=${format.number(totals.queued)}
                        note=${t("overview.queue.note")}
                    />
                    <${Figure}
                        title=${t("overview.finished")}
                        value=${format.number(totals.finished_today)}
                        note=${t("overview.failed", { count: totals.failed_today })}
                        noteTone=${totals.failed_today > 0 ? "bad" : ""}
                    />
                    <${Figure}
                        title=${t("overview.tokens")}
                        value=${format.short(today.usage.total)}
                        note=${t("overview.tokens.parts", {
                            input: format.short(read),
                            output: format.short(today.usage.output),
                            cached: format.percent(share),
                        })}
                    />
                    <${Figure}
                        title=${t("overview.agents")}
                        value=${format.number(totals.agents)}
                        note=${t("overview.sessions", { count: totals.sessions })}
                        href=${address(["sessions"])}
                    />
                </div>
            `;
        };
    },
};

const Figure = {
    props: {
        title: { type: String, required: true },
        value: { type: String, required: true },
        note: { type: String, default: "" },
        tone: { type: String, default: "" },
        noteTone: { type: String, default: "" },
        /** 0 to 1: how much of a limit is used. */
        part: { type: Number, default: undefined },
        href: { type: String, default: undefined },
    },
    setup(props) {
        return () => html`
            <div class="figure-card">
                <p class="figure-title">${props.title}</p>
                <p class=${["figure", props.tone]}>${props.value}</p>
                <p class=${["figure-note", props.noteTone]}>
                    ${props.href ? html`<a href=${props.href}>${props.note}</a>` : props.note}
                </p>
                ${props.part !== undefined &&
                html`<div class="meter" aria-hidden="true"><div style=${{ width: `${Math.min(1, props.part) * 100}%` }}></div></div>`}
            </div>
        `;
    },
};
