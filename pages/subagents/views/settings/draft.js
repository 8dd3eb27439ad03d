/** What has been changed in a form and is not saved; whoever leaves is asked. */

import { onMounted, onUnmounted, shallowRef } from "../../app/vue.js";
import { useApp } from "../../app/services.js";

/** @returns {{isDirty: () => boolean, values: () => Record<string, any>, set: (key: string, value: any) => void,
 *     drop: (key: string) => void, clear: () => void}} */
export function useDraft() {
    const changed = shallowRef({});
    useUnsavedGuard(() => Object.keys(changed.value).length > 0);
    return {
        isDirty: () => Object.keys(changed.value).length > 0,
        values: () => changed.value,
        set: (key, value) => (changed.value = { ...changed.value, [key]: value }),
        drop: (key) => (changed.value = Object.fromEntries(Object.entries(changed.value).filter(([each]) => each !== key))),
        clear: () => (changed.value = {}),
    };
}

/** Ask before the view or the page is left while something is unsaved. */
export function useUnsavedGuard(isDirty) {
    const { t, router, notices } = useApp();
    const leave = () =>
        isDirty()
            ? notices.ask({ title: t("ask.unsaved"), text: t("ask.unsaved.text"), action: t("action.leave"), danger: true })
            : Promise.resolve(true);
    const unload = (event) => isDirty() && event.preventDefault();
    let end = () => {};
    onMounted(() => {
        end = router.guard(leave);
        window.addEventListener("beforeunload", unload);
    });
    onUnmounted(() => {
        end();
        window.removeEventListener("beforeunload", unload);
    });
}
