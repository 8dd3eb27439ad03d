/**
 * Where the page runs: in a frame of AstrBot's WebUI (its bridge is there) or on the plugin's own server.
 */

import { reactive } from "./vue.js";

/** @returns {Host} */
export function findHost() {
    const bridge = window.AstrBotPluginPage ?? null;
    const context = reactive({ locale: null, dark: false });
    // The first context may name an old language; later ones are right, so always listen.
    bridge?.onContext((given) => {
        if (typeof given?.locale === "string") context.locale = given.locale;
        if (typeof given?.isDark === "boolean") context.dark = given.isDark;
    });
    return { bridge, framed: bridge !== null, context };
}
