/** What a view shows of the plugin's state: read, kept fresh by the live stream, read again. */

import { onUnmounted, reactive, shallowRef, watch } from "./vue.js";
import { useApp } from "./services.js";

/** How soon after a matching event something is read again, and how often at most; milliseconds. */
const SOON = 150;
const SPACING = 1_500;
/** A slow answer is asked for less often: this many times its duration lies between two. */
const SLOWNESS = 4;

/**
 * @template T
 * @param {() => Promise<T>} load Reads it.
 * @param {object} [options]
 * @param {(event: EventRow) => boolean} [options.on] Which events change it; none: it is not live.
 * @param {() => unknown} [options.key] What it depends on: a change drops the data and reads anew.
 * @param {() => unknown} [options.also] A change reads anew, but keeps what is shown until then.
 * @param {number} [options.spacing] Milliseconds between two readings.
 * @returns {{data: T|null, error: ApiError|null, loading: boolean, stale: boolean, refresh: () => Promise<void>,
 *     set: (data: T) => void}} Reactive. `loading`: there is nothing to show yet; `stale`: the last reading failed.
 */
export function useResource(load, options = {}) {
    const { live } = useApp();
    const data = shallowRef(null);
    const state = reactive({ error: null, loading: true });
    const spacing = options.spacing ?? SPACING;
    let asked = 0;
    let answered = 0;
    let timer = 0;
    let nextAt = 0;
    let over = false;

    async function refresh() {
        clearTimeout(timer);
        timer = 0;
        const mine = ++asked;
        const begun = performance.now();
        let found;
        let error = null;
        try {
            found = await load();
        } catch (problem) {
            error = problem;
        }
        // Answers may overtake each other; only a newer one than what is shown counts.
        if (over || mine < answered) return;
        answered = mine;
        const took = performance.now() - begun;
        nextAt = performance.now() + Math.max(spacing, took * SLOWNESS);
        state.error = error;
        state.loading = false;
        if (error === null) data.value = found;
    }

    function refreshSoon() {
        if (timer !== 0) return;
        timer = setTimeout(refresh, Math.max(SOON, nextAt - performance.now()));
    }

    const end = live.listen({
        onEvents: (events) => options.on !== undefined && events.some(options.on) && refreshSoon(),
        onReset: () => refreshSoon(),
    });
    onUnmounted(() => {
        over = true;
        clearTimeout(timer);
        end();
    });
    if (options.key !== undefined) {
        watch(options.key, () => {
            answered = asked + 1;
            asked += 1;
            data.value = null;
            Object.assign(state, { error: null, loading: true });
            refresh();
        });
    }
    if (options.also !== undefined) watch(options.also, () => refresh());
    refresh();

    return {
        get data() {
            return data.value;
        },
        get error() {
            return state.error;
        },
        get loading() {
            return state.loading;
        },
        get stale() {
            return state.error !== null && data.value !== null;
        },
        refresh,
        set: (value) => {
            answered = ++asked;
            data.value = value;
        },
    };
}
