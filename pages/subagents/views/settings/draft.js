/** What has been changed in a form and is not saved; whoever leaves is asked. */

import { useUnsavedGuard } from "../../app/unsaved.js";
import { shallowRef } from "../../app/vue.js";

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
