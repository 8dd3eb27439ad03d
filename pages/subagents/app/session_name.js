/**
 * A session id as people can read it: the chat platform and the end of the chat's own id.
 * The ids are `<adapter>:<kind of message>:<id>`; the whole one stands in titles.
 */

const LONGEST = 14;
const KEPT = 8;

/** @param {string} session */
export function shortSession(session) {
    const [adapter, , ...rest] = session.split(":");
    const last = rest.join(":").split("!").at(-1) ?? "";
    if (last === "") return session;
    return `${adapter} · ${last.length > LONGEST ? `…${last.slice(-KEPT)}` : last}`;
}
