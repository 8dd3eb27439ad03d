/** The way to the plugin's own server: fetch, also for the stream (EventSource hides errors). */

import { ApiError, isAbort, unreachable } from "./errors.js";
import { EventReader } from "./event_reader.js";

const ANSWER_MILLISECONDS = 30_000;
/** The server sends a sign of life each 15 s. */
const SILENCE_MILLISECONDS = 45_000;

function address(path, query) {
    const url = new URL(`api/${path}`, new URL(".", location.href));
    for (const [key, value] of Object.entries(query ?? {})) {
        if (value !== undefined && value !== null) url.searchParams.set(key, String(value));
    }
    return url;
}

async function problemOf(response) {
    const body = await response.json().catch(() => null);
    const problem = body?.error ?? { code: response.status >= 500 ? "unreachable" : "unknown" };
    return new ApiError(problem, response.status);
}

/**
 * @param {() => void} onSignedOut Called when the server no longer knows who this is.
 * @returns {Client} A client on the stand-alone server.
 */
export function httpClient(onSignedOut) {
    async function call(path, query, options) {
        let response;
        try {
            const signal = AbortSignal.timeout(ANSWER_MILLISECONDS);
            response = await fetch(address(path, query), { credentials: "same-origin", signal, ...options });
        } catch (error) {
            throw unreachable(error);
        }
        if (response.ok) return response.json();
        const error = await problemOf(response);
        if (response.status === 401 && path !== "login") onSignedOut();
        throw error;
    }
    return {
        get: (path, query) => call(path, query, {}),
        post: (path, body) =>
            call(path, null, {
                method: "POST",
                headers: { "Content-Type": "application/json" },
                body: JSON.stringify(body ?? {}),
            }),
        stream: (path, query, listener) => listen(address(path, query), listener, onSignedOut),
    };
}

function listen(url, listener, onSignedOut) {
    const control = new AbortController();
    let watchdog = 0;
    const alive = () => {
        clearTimeout(watchdog);
        watchdog = setTimeout(() => control.abort(new Error("silence")), SILENCE_MILLISECONDS);
    };
    let closed = false;
    const run = async () => {
        alive();
        const response = await fetch(url, {
            headers: { Accept: "text/event-stream" },
            credentials: "same-origin",
            signal: control.signal,
        });
        if (response.status === 401) onSignedOut();
        if (!response.ok) throw await problemOf(response);
        listener.onOpen();
        const reader = new EventReader(listener.onEvent);
        const body = response.body.pipeThrough(new TextDecoderStream()).getReader();
        for (;;) {
            const { done, value } = await body.read();
            if (done) return;
            alive();
            reader.take(value);
        }
    };
    run()
        .then(
            () => null,
            (error) => (error instanceof ApiError ? error : unreachable(isAbort(error) ? "silence" : error)),
        )
        .then((error) => {
            clearTimeout(watchdog);
            if (!closed) listener.onEnd(error);
        });
    return () => {
        closed = true;
        control.abort();
    };
}
