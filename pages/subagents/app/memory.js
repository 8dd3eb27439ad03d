/** What the page remembers of a person's choices; AstrBot's frame has no storage, there it forgets. */

const PREFIX = "subagents.";

/** @returns {Memory} */
export function createMemory() {
    const kept = new Map();
    return {
        get(key) {
            try {
                return window.localStorage.getItem(PREFIX + key) ?? undefined;
            } catch {
                return kept.get(key);
            }
        },
        set(key, value) {
            kept.set(key, value);
            try {
                window.localStorage.setItem(PREFIX + key, value);
            } catch {
                // Only kept until the page is closed.
            }
        },
    };
}
