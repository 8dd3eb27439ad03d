/** What a task of the chart is, beside it, while it is pointed at or has the focus. */

import { html } from "../../app/vue.js";
import { useApp } from "../../app/services.js";
import { StateBadge } from "../../components/badges.js";
import { doer } from "../../app/runs.js";
import { ROW } from "./gantt_scale.js";

const WIDTH = 300;
const HEIGHT = 190;

export const GanttTip = {
    props: {
        bar: { type: Object, required: true },
        bars: { type: Array, required: true },
        row: { type: Number, required: true },
        left: { type: Number, required: true },
        view: { type: Object, required: true },
        sheet: { type: Number, required: true },
    },
    setup(props) {
        const { t, texts } = useApp();
        const fact = (key, value) => html`<dt>${t(key)}</dt><dd>${value}</dd>`;
        return () => {
            const { bar, row, view } = props;
            const { format } = texts;
            const below = (row + 1) * ROW + HEIGHT < view.top + view.height;
            const top = below ? (row + 1) * ROW + 2 : row * ROW - 6;
            const needs = bar.depends_on
                .map((id) => props.bars.find((each) => each.run_id === id))
                .map((each, index) => (each ? doer(t, each) : bar.depends_on[index]));
            return html`
                <div
                    class=${["gantt-card", { above: !below }]}
                    aria-hidden="true"
                    style=${{ top: `${Math.max(0, top)}px`, left: `${Math.max(8, Math.min(props.left, props.sheet - WIDTH - 8))}px`, width: `${WIDTH}px` }}
                >
                    <div class="row"><strong class="clip">${doer(t, bar)}</strong><${StateBadge} state=${bar.state} /></div>
                    <p class="muted clamp">${bar.input}</p>
                    <dl class="facts small">
                        ${fact("timeline.asked_at", format.moment(bar.created_at))}
                        ${bar.inLine >= 1 && fact("timeline.in_line", format.duration(bar.inLine))}
                        ${bar.started !== null && fact("timeline.at_work", format.duration(bar.atWork))}
                        ${bar.asked > 0 && fact("timeline.asking", format.duration(bar.asked))}
                        ${needs.length > 0 && fact("timeline.needs", needs.join(", "))}
                    </dl>
                </div>
            `;
        };
    },
};
