/** The time that durations and "3 min ago" are shown by: one tick a second for the whole page. */

import { onUnmounted, ref } from "./vue.js";

/** @returns {{use: () => {value: number}}} `use` in a setup gives the present as reactive milliseconds. */
export function createClock() {
    const now = ref(Date.now());
    let users = 0;
    let timer = 0;
    const tick = () => {
        if (!document.hidden) now.value = Date.now();
    };
    document.addEventListener("visibilitychange", tick);
    return {
        use() {
            users += 1;
            if (users === 1) {
                tick();
                timer = setInterval(tick, 1000);
            }
            onUnmounted(() => {
                users -= 1;
                if (users === 0) clearInterval(timer);
            });
            return now;
        },
    };
}
