/** Reads the text of a `text/event-stream`, whose pieces end anywhere. */
export class EventReader {
    /** @param {(event: {kind: string, id: string, data: any}) => void} onEvent */
    constructor(onEvent) {
        this.onEvent = onEvent;
        this.rest = "";
        this.id = "";
    }

    /** @param {string} text The next piece. */
    take(text) {
        this.rest += text;
        const blocks = this.rest.replaceAll("\r\n", "\n").split("\n\n");
        this.rest = blocks.pop();
        for (const block of blocks) this.#block(block);
    }

    #block(block) {
        let kind = "message";
        const data = [];
        for (const line of block.split("\n")) {
            if (line.startsWith(":")) continue;
            const at = line.indexOf(":");
            const name = at < 0 ? line : line.slice(0, at);
            const value = at < 0 ? "" : line.slice(at + 1).replace(/^ /, "");
            if (name === "event") kind = value;
            else if (name === "id") this.id = value;
            else if (name === "data") data.push(value);
        }
        if (data.length === 0 && kind === "message") return;
        this.onEvent({ kind, id: this.id, data: parsed(data.join("\n")) });
    }
}

function parsed(text) {
    try {
        return JSON.parse(text);
    } catch {
        return text;
    }
}
