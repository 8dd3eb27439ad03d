/** Doing something at the plugin on a click: busy until it answers, told when it failed. */

import { ref } from "./vue.js";
import { useApp } from "./services.js";

/**
 * @returns {{busy: boolean, run: (work: () => Promise<unknown>, done?: string) => Promise<boolean>}}
 *     `run` tells `done` (a text) on success, the error on failure, and says which it was. While one
 *     is under way a second one is not begun.
 */
export function useAction() {
    const { notices } = useApp();
    const busy = ref(false);
    async function run(work, done) {
        if (busy.value) return false;
        busy.value = true;
        try {
            await work();
            if (done) notices.done(done);
            return true;
        } catch (error) {
            notices.failed(error);
            return false;
        } finally {
            busy.value = false;
        }
    }
    return {
        get busy() {
            return busy.value;
        },
        run,
    };
}
