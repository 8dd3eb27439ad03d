/** Light or dark: as AstrBot says in its frame, else as the person chose, else as the system is set. */

import { reactive, watchEffect } from "./vue.js";

/**
 * @param {Host} host
 * @param {Memory} memory
 * @returns {{dark: boolean, choice: "system"|"light"|"dark", choose: (choice: string) => void}}
 */
export function createTheme(host, memory) {
    const system = window.matchMedia("(prefers-color-scheme: dark)");
    const theme = reactive({
        choice: memory.get("theme") ?? "system",
        system: system.matches,
        get dark() {
            if (host.framed) return host.context.dark;
            return theme.choice === "system" ? theme.system : theme.choice === "dark";
        },
        choose(choice) {
            theme.choice = choice;
            memory.set("theme", choice);
        },
    });
    system.addEventListener("change", (event) => {
        theme.system = event.matches;
    });
    watchEffect(() => {
        document.documentElement.dataset.theme = theme.dark ? "dark" : "light";
    });
    return theme;
}
