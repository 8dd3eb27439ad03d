/**
 * A window on a long list that the API gives page by page, oldest first: it grows at both ends as it is scrolled,
 * and lets go of what is far away, so that the page stays light however long the list is.
 */

import { onUnmounted, reactive, shallowRef } from "./vue.js";

const PAGE = 100;
const MOST = 400;

/**
 * @template T
 * @param {(offset: number, limit: number) => Promise<{items: T[], total: number}>} load
 * @returns {{items: T[], from: number, total: number|null, error: ApiError|null, busy: boolean, atEnd: boolean,
 *     open: (end: boolean) => Promise<void>, earlier: () => Promise<void>, later: () => Promise<void>,
 *     grown: () => Promise<void>}} Reactive. `from`: the number of the first item shown; `grown`: look what has come.
 */
export function usePages(load) {
    const items = shallowRef([]);
    const state = reactive({ from: 0, total: null, error: null, busy: false });
    let generation = 0;

    /** One reading at a time; what an older one brings after `open` is dropped. */
    async function read(offset, limit, take) {
        if (state.busy) return;
        const mine = generation;
        state.busy = true;
        try {
            const found = await load(offset, limit);
            if (mine !== generation) return;
            state.total = found.total;
            state.error = null;
            take(found.items);
        } catch (error) {
            if (mine === generation) state.error = error;
        } finally {
            if (mine === generation) state.busy = false;
        }
    }

    const end = () => state.from + items.value.length;
    const isAtEnd = () => state.total !== null && end() >= state.total;

    async function open(atEnd) {
        generation += 1;
        state.busy = false;
        await read(0, PAGE, (found) => show(0, found));
        if (atEnd && state.total > PAGE) {
            const from = state.total - PAGE;
            await read(from, PAGE, (found) => show(from, found));
        }
    }
    function show(from, found) {
        state.from = from;
        items.value = found;
    }
    async function earlier() {
        if (state.from === 0) return;
        const from = Math.max(0, state.from - PAGE);
        await read(from, state.from - from, (found) => show(from, [...found, ...items.value].slice(0, MOST)));
    }
    async function later() {
        await read(end(), PAGE, (found) => {
            const all = [...items.value, ...found];
            const surplus = Math.max(0, all.length - MOST);
            show(state.from + surplus, all.slice(surplus));
        });
    }
    onUnmounted(() => (generation += 1));

    return {
        get items() {
            return items.value;
        },
        get from() {
            return state.from;
        },
        get total() {
            return state.total;
        },
        get error() {
            return state.error;
        },
        get busy() {
            return state.busy;
        },
        get atEnd() {
            return isAtEnd();
        },
        open,
        earlier,
        later,
        /** New items are shown where the end was shown; elsewhere only their number is learnt. */
        grown: () => (isAtEnd() || state.total === null ? later() : read(0, 1, () => {})),
    };
}
