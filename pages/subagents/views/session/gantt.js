/**
 * The chart: a row for each task in the order they were asked for, the names at the left, the time to the right.
 * Only the rows that can be seen are in the page. Arrows lead from a task to those that needed its result.
 */

import { computed, html, nextTick, onMounted, onUnmounted, ref, shallowRef, watch } from "../../app/vue.js";
import { useApp } from "../../app/services.js";
import { UNDER_WAY } from "../../app/runs.js";
import { GanttArrows } from "./gantt_arrows.js";
import { GanttBars, GanttName } from "./gantt_row.js";
import { GanttTip } from "./gantt_tip.js";
import { barOf, markFormat, marksOf, ROW, scaleOf } from "./gantt_scale.js";

const HEAD = 32;
const AROUND = 8;
const NARROW = 560;
const NAMES = { wide: 176, narrow: 104 };

export const Gantt = {
    props: {
        items: { type: Array, required: true },
        /** The server's time with these items. */
        now: { type: String, required: true },
        session: { type: String, required: true },
        zoom: { type: Number, default: 1 },
    },
    emits: ["zoom"],
    setup(props, { emit }) {
        const { t, texts, clock } = useApp();
        const tick = clock.use();
        const scroller = ref(null);
        const view = useView(scroller);
        const marked = ref(null);
        const mark = (id) => (marked.value = id);
        // The clocks of the browser and the server may differ.
        const behind = computed(() => Date.parse(props.now) - Date.now());
        const live = computed(() => props.items.some((item) => UNDER_WAY.has(item.state)));
        const now = computed(() => (live.value ? tick.value + behind.value : Date.parse(props.now)));
        const bars = computed(() =>
            props.items.map((item) => barOf(item, now.value)).sort((one, other) => one.created - other.created),
        );
        const names = computed(() => (view.value.width < NARROW ? NAMES.narrow : NAMES.wide));
        const width = computed(() => Math.max(240, view.value.width - names.value) * props.zoom);
        const scale = computed(() => scaleOf(bars.value, now.value, width.value));
        const axis = computed(() => marksOf(scale.value));
        const format = computed(() => markFormat(texts.locale, axis.value.step));

        onMounted(() => {
            // The newest are at the end.
            nextTick(() => (scroller.value.scrollTop = scroller.value.scrollHeight));
        });
        watch(
            () => props.zoom,
            (zoom, before) => {
                const element = scroller.value;
                const middle = element.scrollLeft + element.clientWidth / 2;
                nextTick(() => (element.scrollLeft = (middle * zoom) / before - element.clientWidth / 2));
            },
        );
        function wheel(event) {
            if (!event.ctrlKey) return;
            event.preventDefault();
            emit("zoom", event.deltaY < 0 ? 1 : -1);
        }

        const barsOf = (from, to) =>
            bars.value.slice(from, to).map(
                (bar, index) => html`<${GanttBars}
                    key=${bar.run_id}
                    bar=${bar}
                    scale=${scale.value}
                    session=${props.session}
                    row=${from + index}
                    left=${names.value}
                    onMark=${mark}
                />`,
            );
        const namesOf = (from, to) =>
            bars.value.slice(from, to).map(
                (bar, index) => html`<${GanttName}
                    key=${bar.run_id}
                    bar=${bar}
                    session=${props.session}
                    row=${from + index}
                    total=${bars.value.length}
                    onMark=${mark}
                />`,
            );
        function tip() {
            const row = bars.value.findIndex((bar) => bar.run_id === marked.value);
            if (row < 0) return null;
            return html`<i class="gantt-marked" style=${{ top: `${row * ROW}px`, height: `${ROW}px` }}></i><${GanttTip}
                bar=${bars.value[row]}
                bars=${bars.value}
                row=${row}
                left=${names.value + scale.value.at(bars.value[row].created)}
                view=${view.value}
                sheet=${names.value + scale.value.width}
            />`;
        }
        return () => {
            const count = bars.value.length;
            const from = Math.max(0, Math.floor((view.value.top - HEAD) / ROW) - AROUND);
            const to = Math.min(count, Math.ceil((view.value.top + view.value.height) / ROW) + AROUND);
            const { marks } = axis.value;
            return html`
                <div class="gantt" ref=${scroller} onWheel=${wheel} tabindex="0" role="group" aria-label=${t("session.timeline")}>
                    <div class="gantt-sheet" style=${{ width: `${names.value + scale.value.width}px` }}>
                        <${Axis} marks=${marks} format=${format.value} scale=${scale.value} names=${names.value} />
                        <div class="gantt-rows" style=${{ height: `${count * ROW}px` }}>
                            ${marks.map((time) => line(time, names.value, scale.value))}
                            ${live.value && line(now.value, names.value, scale.value, "now")}
                            <div class="gantt-names" role="list" style=${{ width: `${names.value}px`, height: `${count * ROW}px` }}>
                                ${namesOf(from, to)}
                            </div>
                            ${barsOf(from, to)}
                            <${GanttArrows} bars=${bars.value} scale=${scale.value} left=${names.value} from=${from} to=${to} marked=${marked.value} />
                            ${tip()}
                        </div>
                    </div>
                </div>
            `;
        };
    },
};

/** A line from top to bottom at a time. */
function line(time, names, scale, kind = "") {
    return html`<i key=${kind || time} class=${["gantt-line", kind]} style=${{ left: `${names + scale.at(time)}px` }}></i>`;
}

/** What of a scrolling element is seen; at most once a frame. */
function useView(scroller) {
    const view = shallowRef({ top: 0, height: 480, width: 800 });
    let waits = false;
    function look() {
        waits = false;
        if (scroller.value === null) return;
        const { scrollTop, clientHeight, clientWidth } = scroller.value;
        const seen = view.value;
        if (seen.top === scrollTop && seen.height === clientHeight && seen.width === clientWidth) return;
        view.value = { top: scrollTop, height: clientHeight, width: clientWidth };
    }
    function lookSoon() {
        if (waits) return;
        waits = true;
        requestAnimationFrame(look);
    }
    const frame = new ResizeObserver(lookSoon);
    onMounted(() => {
        scroller.value.addEventListener("scroll", lookSoon, { passive: true });
        frame.observe(scroller.value);
        look();
    });
    onUnmounted(() => frame.disconnect());
    return view;
}

const Axis = {
    props: {
        marks: { type: Array, required: true },
        format: { type: Object, required: true },
        scale: { type: Object, required: true },
        names: { type: Number, required: true },
    },
    setup(props) {
        const { t } = useApp();
        return () => html`
            <div class="gantt-axis" style=${{ height: `${HEAD}px` }}>
                <span class="gantt-corner" style=${{ width: `${props.names}px` }}>${t("timeline.task")}</span>
                ${props.marks.map((time) => {
                    const left = `${props.names + props.scale.at(time)}px`;
                    return html`<span key=${time} class="gantt-mark" style=${{ left }}>${props.format.format(time)}</span>`;
                })}
            </div>
        `;
    },
};
