/**
 * The live stream: one for the whole page, however many views listen.
 *
 * It resumes after the last event that was seen, so nothing is lost by a broken line. When that
 * cannot be (first start, `reset`), listeners are told to read anew. Events are handed on in
 * batches, one for each frame the browser paints: a burst does not freeze the page.
 */

import { reactive } from "./vue.js";

const FIRST_WAIT = 500;
const LONGEST_WAIT = 30_000;
/** In a hidden page nothing is painted. */
const HIDDEN_WAIT = 1_000;
const HELD = 5_000;

export class Live {
    #client;
    #listeners = new Set();
    #batch = [];
    #flushing = false;
    #close = null;
    #timer = 0;
    #failures = 0;
    #openedAt = 0;
    #lastId = null;

    /** @param {Client} client */
    constructor(client) {
        this.#client = client;
        /** @type {{status: "off"|"connecting"|"open"|"reconnecting", retryAt: number|null}} */
        this.state = reactive({ status: "off", retryAt: null });
    }

    /** Begin, or begin anew. */
    start() {
        this.stop();
        this.state.status = "connecting";
        window.addEventListener("online", this.retry);
        document.addEventListener("visibilitychange", this.retry);
        this.#connect();
    }

    /** End; nobody is told anything any more. */
    stop() {
        clearTimeout(this.#timer);
        window.removeEventListener("online", this.retry);
        document.removeEventListener("visibilitychange", this.retry);
        this.#close?.();
        this.#close = null;
        this.#lastId = null;
        this.#failures = 0;
        this.state.status = "off";
        this.state.retryAt = null;
    }

    /** Try again now instead of later. */
    retry = () => {
        if (this.state.retryAt === null || document.hidden) return;
        clearTimeout(this.#timer);
        this.#connect();
    };

    /**
     * @param {{onEvents?: (events: EventRow[]) => void, onReset?: () => void}} listener
     *     `onReset`: events may be missing, read anew.
     * @returns {() => void} Ends it.
     */
    listen(listener) {
        this.#listeners.add(listener);
        return () => this.#listeners.delete(listener);
    }

    #connect() {
        this.state.retryAt = null;
        const resumes = this.#lastId !== null;
        const query = resumes ? { after: this.#lastId } : {};
        this.#close = this.#client.stream("events", query, {
            onOpen: () => this.#opened(resumes),
            onEvent: (event) => this.#take(event),
            onEnd: (error) => this.#ended(error),
        });
    }

    #opened(resumes) {
        this.#openedAt = performance.now();
        this.state.status = "open";
        if (!resumes) this.#tellReset();
    }

    #take(event) {
        if (event.kind === "reset") {
            this.#lastId = null;
            this.#batch = [];
            this.#tellReset();
            return;
        }
        if (event.kind === "gone") {
            this.#close?.();
            this.#ended(null);
            return;
        }
        if (event.id) this.#lastId = event.id;
        if (event.data === null || typeof event.data !== "object") return;
        this.#batch.push(event.data);
        this.#flushSoon();
    }

    #flushSoon() {
        if (this.#flushing) return;
        this.#flushing = true;
        if (document.hidden) setTimeout(() => this.#flush(), HIDDEN_WAIT);
        else requestAnimationFrame(() => this.#flush());
    }

    #flush() {
        this.#flushing = false;
        const events = this.#batch;
        this.#batch = [];
        if (events.length === 0) return;
        for (const listener of [...this.#listeners]) listener.onEvents?.(events);
    }

    #tellReset() {
        for (const listener of [...this.#listeners]) listener.onReset?.();
    }

    #ended(error) {
        this.#close = null;
        if (this.state.status === "off") return;
        // The event it wanted to go on from may be what the server does not take.
        if (error?.status === 400) this.#lastId = null;
        const held = this.state.status === "open" && performance.now() - this.#openedAt > HELD;
        this.#failures = held ? 1 : this.#failures + 1;
        const wait = Math.min(LONGEST_WAIT, FIRST_WAIT * 2 ** (this.#failures - 1));
        const spread = wait * (0.75 + Math.random() / 2);
        this.state.status = "reconnecting";
        this.state.retryAt = Date.now() + spread;
        this.#timer = setTimeout(() => this.#connect(), spread);
    }
}
