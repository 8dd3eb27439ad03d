/**
 * A long list of which only what is on the screen exists: rows of one height, read page by page as they come
 * into view. Arrow keys, Page keys, Home and End move among the rows.
 *
 * `load(offset, limit)` gives `{items, total}`; the slot `row` gets one item. A change of `of` begins anew at the
 * top; events that `on` is true for read what is on the screen again. Slot `empty`: shown when there is nothing.
 */

import { html, nextTick, onMounted, onUnmounted, reactive, shallowRef, watch } from "../app/vue.js";
import { useApp } from "../app/services.js";
import { Failure, Loading } from "./states.js";

const PAGE = 50;
const KEPT_PAGES = 12;
const SPARE_ROWS = 6;
const SPACING = 1_500;

export const PagedList = {
    props: {
        label: { type: String, required: true },
        load: { type: Function, required: true },
        /** What the list is of, as a text. */
        of: { type: String, default: "" },
        on: { type: Function, default: undefined },
        rowHeight: { type: Number, default: 64 },
    },
    emits: ["total"],
    setup(props, { slots, emit, expose }) {
        const pages = useKeptPages(props, emit);
        const view = reactive({ first: 0, last: 20 });
        const scroller = shallowRef(null);

        function look() {
            const element = scroller.value;
            if (element === null) return;
            view.first = Math.max(0, Math.floor(element.scrollTop / props.rowHeight) - SPARE_ROWS);
            view.last = Math.ceil((element.scrollTop + element.clientHeight) / props.rowHeight) + SPARE_ROWS;
            pages.want(view.first, view.last);
        }
        const sizes = new ResizeObserver(look);
        watch(scroller, (now, before) => {
            if (before) sizes.unobserve(before);
            if (now) sizes.observe(now);
        });
        onUnmounted(() => sizes.disconnect());
        onMounted(() => pages.begin());
        watch(
            () => props.of,
            () => {
                if (scroller.value) scroller.value.scrollTop = 0;
                Object.assign(view, { first: 0, last: 20 });
                pages.begin();
            },
        );
        expose({ refresh: () => pages.again() });

        async function pressed(event) {
            const row = Number(event.target.closest("[data-row]")?.dataset.row ?? -1);
            const screen = Math.max(1, Math.floor(scroller.value.clientHeight / props.rowHeight) - 1);
            const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: screen, PageUp: -screen };
            const ends = { Home: 0, End: pages.state.total - 1 };
            const wanted = ends[event.key] ?? (steps[event.key] === undefined ? null : row + steps[event.key]);
            if (wanted === null) return;
            event.preventDefault();
            await focusRow(Math.min(Math.max(0, wanted), pages.state.total - 1));
        }
        async function focusRow(row) {
            const element = scroller.value;
            const top = row * props.rowHeight;
            if (top < element.scrollTop) element.scrollTop = top;
            const bottom = top + props.rowHeight - element.clientHeight;
            if (bottom > element.scrollTop) element.scrollTop = bottom;
            look();
            await pages.arrived(row);
            await nextTick();
            element.querySelector(`[data-row="${row}"] a`)?.focus({ preventScroll: true });
        }

        function rows() {
            const { total } = pages.state;
            const shown = [];
            for (let row = view.first; row < Math.min(total, view.last); row += 1) {
                const item = pages.at(row);
                shown.push(html`
                    <li
                        key=${row}
                        class="virtual-row"
                        data-row=${row}
                        aria-setsize=${total}
                        aria-posinset=${row + 1}
                        style=${{ top: `${row * props.rowHeight}px`, height: `${props.rowHeight}px` }}
                    >
                        ${item === undefined ? html`<div class="loading-bar row-to-come"></div>` : slots.row(item)}
                    </li>
                `);
            }
            return shown;
        }
        return () => {
            const { total, error } = pages.state;
            if (error !== null && total === null) return html`<${Failure} error=${error} onRetry=${pages.begin} />`;
            if (total === null) return html`<${Loading} lines=${6} />`;
            if (total === 0) return slots.empty?.() ?? null;
            return html`
                <div ref=${scroller} class="virtual paged" onScroll=${look} onKeydown=${pressed}>
                    <ul class="virtual-space" aria-label=${props.label} style=${{ height: `${total * props.rowHeight}px` }}>
                        ${rows()}
                    </ul>
                </div>
            `;
        };
    },
};

/** The pages of a list that were read and are near; each is read once until something happens. */
function useKeptPages(props, emit) {
    const { live } = useApp();
    const state = reactive({ total: null, error: null });
    const kept = shallowRef(new Map());
    const underWay = new Map();
    let generation = 0;
    let timer = 0;
    let range = [0, 20];

    async function read(page) {
        const mine = generation;
        try {
            const found = await props.load(page * PAGE, PAGE);
            if (mine !== generation) return;
            const changed = state.total !== found.total;
            Object.assign(state, { total: found.total, error: null });
            keep(page, found.items);
            if (changed) emit("total", found.total);
        } catch (error) {
            if (mine === generation) state.error = error;
        } finally {
            if (mine === generation) underWay.delete(page);
        }
    }
    function keep(page, items) {
        const near = [...kept.value].filter(([each]) => Math.abs(each - page) < KEPT_PAGES / 2);
        kept.value = new Map([...near, [page, items]]);
    }
    function ask(page) {
        if (!underWay.has(page)) underWay.set(page, read(page));
        return underWay.get(page);
    }
    const pagesOf = ([first, last]) => {
        const end = Math.max(first, Math.min(last, (state.total ?? PAGE) - 1));
        const from = Math.floor(first / PAGE);
        return Array.from({ length: Math.floor(end / PAGE) - from + 1 }, (_, index) => from + index);
    };
    function begin() {
        generation += 1;
        underWay.clear();
        kept.value = new Map();
        Object.assign(state, { total: null, error: null });
        range = [0, 20];
        return ask(0);
    }
    function again() {
        const wanted = pagesOf(range);
        kept.value = new Map([...kept.value].filter(([page]) => wanted.includes(page)));
        return Promise.all(wanted.map(ask));
    }
    function soon() {
        if (timer !== 0) return;
        timer = setTimeout(async () => {
            await again();
            timer = 0;
        }, SPACING);
    }
    const end = live.listen({
        onEvents: (events) => props.on !== undefined && events.some(props.on) && soon(),
        onReset: soon,
    });
    onUnmounted(() => {
        generation += 1;
        clearTimeout(timer);
        end();
    });

    return {
        state,
        begin,
        again,
        at: (row) => kept.value.get(Math.floor(row / PAGE))?.[row % PAGE],
        /** These rows are on the screen. */
        want(first, last) {
            range = [first, last];
            for (const page of pagesOf(range)) if (!kept.value.has(page)) ask(page);
        },
        /** Resolves once a row that was asked for is there. */
        arrived: (row) => underWay.get(Math.floor(row / PAGE)),
    };
}
