/** The arrows of the chart: from the end of a task to the beginning of one that needed its result. */

import { computed, html } from "../../app/vue.js";
import { curve, ROW } from "./gantt_scale.js";

/** The tip of an arrow stops before the bar. */
const GAP = 2;

export const GanttArrows = {
    props: {
        bars: { type: Array, required: true },
        scale: { type: Object, required: true },
        left: { type: Number, required: true },
        /** The rows that are shown. */
        from: { type: Number, required: true },
        to: { type: Number, required: true },
        /** The task that is pointed at. */
        marked: { type: String, default: null },
    },
    setup(props) {
        /** `[row of the needed one, row of the one that needs it]` */
        const pairs = computed(() => {
            const rows = new Map(props.bars.map((bar, row) => [bar.run_id, row]));
            return props.bars.flatMap((bar, row) =>
                bar.depends_on.filter((id) => rows.has(id)).map((id) => [rows.get(id), row]),
            );
        });
        const isSeen = ([one, other]) => Math.max(one, other) >= props.from && Math.min(one, other) < props.to;

        function arrow([needed, needing]) {
            const [before, after] = [props.bars[needed], props.bars[needing]];
            const { at } = props.scale;
            const begin = { x: at(before.end), y: needed * ROW + ROW / 2 };
            const end = { x: at(after.started ?? after.end) - GAP, y: needing * ROW + ROW / 2 };
            const strong = props.marked === before.run_id || props.marked === after.run_id;
            return html`<path
                key=${`${before.run_id} ${after.run_id}`}
                class=${{ strong }}
                d=${curve(begin, end)}
                marker-end="url(#gantt-tip)"
            />`;
        }
        // A picture as large as the whole chart would be painted anew for each step of scrolling.
        const top = () => props.from * ROW;
        const height = () => (props.to - props.from) * ROW;
        return () => html`
            <svg
                class="gantt-arrows"
                aria-hidden="true"
                width=${props.scale.width}
                height=${height()}
                viewBox=${`0 ${top()} ${props.scale.width} ${height()}`}
                style=${{ left: `${props.left}px`, top: `${top()}px` }}
            >
                <defs>
                    <marker id="gantt-tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">
                        <path d="M0 0L8 4L0 8z" />
                    </marker>
                </defs>
                ${pairs.value.filter(isSeen).map(arrow)}
            </svg>
        `;
    },
};
