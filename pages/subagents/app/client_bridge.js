/**
 * The way to the plugin inside of AstrBot's WebUI: its bridge.
 *
 * The bridge gives of a failed call a text only. The plugin writes its error there as JSON; any other
 * text is AstrBot's own.
 */

import { ApiError, unreachable } from "./errors.js";

const CHANNEL = "astrbot-plugin-page";

/** What the bridge takes as parameters: no empty ones, all as text. */
function textsOf(query) {
    const kept = Object.entries(query ?? {}).filter(([, value]) => value !== undefined && value !== null);
    return Object.fromEntries(kept.map(([key, value]) => [key, String(value)]));
}

/** The error that a rejection of the bridge stands for. */
export function errorOf(rejection) {
    const text = String(rejection?.message ?? rejection ?? "");
    let problem;
    try {
        problem = JSON.parse(text);
    } catch {
        if (/network error|failed to fetch|timeout/i.test(text)) return unreachable(text);
        return new ApiError({ code: "host", message: text });
    }
    if (problem === null || typeof problem !== "object") return new ApiError({ code: "host", message: text });
    return new ApiError(problem.error ?? problem);
}

/** @returns {Client} A client on the WebUI's bridge. */
export function bridgeClient(bridge) {
    const asked = (call) => call.catch((rejection) => Promise.reject(errorOf(rejection)));
    return {
        get: (path, query) => asked(bridge.apiGet(path, textsOf(query))),
        // A copy: what is reactive cannot be sent to another window.
        post: (path, body) => asked(bridge.apiPost(path, JSON.parse(JSON.stringify(body ?? {})))),
        stream: (path, query, listener) => subscribe(bridge, path, textsOf(query), listener),
    };
}

/**
 * The bridge tells when a stream breaks, but keeps to itself when it ends in order; its message to
 * the frame does say so.
 */
function subscribe(bridge, path, query, listener) {
    let id = null;
    let open = true;
    const ended = (error) => {
        if (!open) return;
        open = false;
        window.removeEventListener("message", seen);
        listener.onEnd(error);
    };
    const seen = (event) => {
        const message = event.data;
        if (event.source !== window.parent || message?.channel !== CHANNEL) return;
        if (message.kind !== "sse_state" || message.subscriptionId !== id) return;
        if (message.state === "closed") ended(null);
    };
    window.addEventListener("message", seen);
    const handlers = {
        onOpen: () => open && listener.onOpen(),
        onMessage: (message) =>
            open && listener.onEvent({ kind: message.eventType, id: message.lastEventId, data: message.parsed }),
        onError: () => ended(unreachable("the stream broke")),
    };
    bridge.subscribeSSE(path, handlers, query).then(
        (given) => {
            id = given;
            if (!open) bridge.unsubscribeSSE(id).catch(() => {});
        },
        (rejection) => ended(errorOf(rejection)),
    );
    return () => {
        if (!open) return;
        open = false;
        window.removeEventListener("message", seen);
        if (id !== null) bridge.unsubscribeSSE(id).catch(() => {});
    };
}
