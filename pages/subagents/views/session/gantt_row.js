/** One task on the chart: its name, a link to its transcript, and its time in line, at work and asking. */

import { html } from "../../app/vue.js";
import { useApp } from "../../app/services.js";
import { address } from "../../app/router.js";
import { doer } from "../../app/runs.js";
import { ROW } from "./gantt_scale.js";

/** A bar is never thinner. */
const THINNEST = 4;

const place = (session, bar) => address(["session", session, "run", bar.run_id]);
const atRow = (row) => ({ top: `${row * ROW}px`, height: `${ROW}px` });

/** What tells the chart which task is pointed at or has the focus. */
const marking = (emit, bar) => ({
    onMouseenter: () => emit("mark", bar.run_id),
    onMouseleave: () => emit("mark", null),
    onFocus: () => emit("mark", bar.run_id),
    onBlur: () => emit("mark", null),
});

export const GanttName = {
    props: {
        bar: { type: Object, required: true },
        session: { type: String, required: true },
        row: { type: Number, required: true },
        total: { type: Number, required: true },
    },
    emits: ["mark"],
    setup(props, { emit }) {
        const { t } = useApp();
        return () => {
            const { bar } = props;
            const name = doer(t, bar);
            return html`
                <div role="listitem" aria-posinset=${props.row + 1} aria-setsize=${props.total} class="gantt-name" style=${atRow(props.row)}>
                    <a
                        href=${place(props.session, bar)}
                        aria-label=${`${name}, ${t(`state.${bar.state}`)}: ${bar.input}`}
                        ...${marking(emit, bar)}
                    >
                        <span class=${["dot", bar.state]}></span><span class="clip">${name}</span>
                    </a>
                </div>
            `;
        };
    },
};

/** The bars; for those who see them, and to click on: the name before says the rest. */
export const GanttBars = {
    props: {
        bar: { type: Object, required: true },
        scale: { type: Object, required: true },
        session: { type: String, required: true },
        row: { type: Number, required: true },
        left: { type: Number, required: true },
    },
    emits: ["mark"],
    setup(props, { emit }) {
        const piece = (kind, from, to) => {
            const { at } = props.scale;
            const left = at(from);
            const width = Math.max(THINNEST, at(to) - left);
            return html`<i key=${`${kind} ${from}`} class=${["gantt-bar", kind]} style=${{ left: `${left}px`, width: `${width}px` }}></i>`;
        };
        return () => {
            const { bar } = props;
            return html`
                <a
                    class="gantt-bars"
                    aria-hidden="true"
                    tabindex="-1"
                    href=${place(props.session, bar)}
                    style=${{ ...atRow(props.row), left: `${props.left}px` }}
                    ...${marking(emit, bar)}
                >
                    ${bar.inLine > 0 && piece("line", bar.created, bar.started ?? bar.end)}
                    ${bar.started !== null && piece(`work ${bar.state}`, bar.started, bar.end)}
                    ${bar.spans.map(([from, to]) => piece("ask", from, to))}
                </a>
            `;
        };
    },
};
