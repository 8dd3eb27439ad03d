/** Putting a text on the clipboard, also where the frame is not allowed the browser's own way. */

/** @returns {Promise<boolean>} Whether it is there. */
export async function copyText(text) {
    try {
        await navigator.clipboard.writeText(text);
        return true;
    } catch {
        return copySelected(text);
    }
}

/** The old way: a text that is selected for a moment. The focus goes back where it was. */
function copySelected(text) {
    const focused = document.activeElement;
    const area = document.createElement("textarea");
    area.value = text;
    area.className = "sr-only";
    (document.querySelector("dialog[open]") ?? document.body).append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    focused?.focus();
    return done;
}
