/** Asking before input that is not saved is lost. */

import { onMounted, onUnmounted } from "./vue.js";
import { useApp } from "./services.js";

/** @returns {(isDirty: boolean) => Promise<boolean>} Whether it may be left; asks only if something is unsaved. */
export function useLeaving() {
    const { t, notices } = useApp();
    return (isDirty) =>
        isDirty
            ? notices.ask({ title: t("ask.unsaved"), text: t("ask.unsaved.text"), action: t("action.leave"), danger: true })
            : Promise.resolve(true);
}

/** Ask before the view or the page is left while something is unsaved. */
export function useUnsavedGuard(isDirty) {
    const { router } = useApp();
    const mayLeave = useLeaving();
    const unload = (event) => isDirty() && event.preventDefault();
    let end = () => {};
    onMounted(() => {
        end = router.guard(() => mayLeave(isDirty()));
        window.addEventListener("beforeunload", unload);
    });
    onUnmounted(() => {
        end();
        window.removeEventListener("beforeunload", unload);
    });
}
