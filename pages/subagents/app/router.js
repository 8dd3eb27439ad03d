/**
 * Which view is shown: the part of the address behind `#`.
 *
 * In AstrBot's WebUI that is the address of the frame, so links, the browser's back button and
 * bookmarks of the stand-alone page all work. Parts hold any characters, since ids do.
 */

import { shallowRef } from "./vue.js";

/**
 * The address of a view.
 * @param {string[]} parts As `["session", id]`.
 * @param {Record<string, string|undefined>} [query]
 */
export function address(parts, query = {}) {
    const kept = Object.entries(query).filter(([, value]) => value !== undefined && value !== "");
    const path = parts.map(encodeURIComponent).join("/");
    return kept.length === 0 ? `#/${path}` : `#/${path}?${new URLSearchParams(kept)}`;
}

/** @param {string} hash @returns {Place} */
export function placeOf(hash) {
    const text = hash.replace(/^#?\/?/, "");
    const at = text.indexOf("?");
    const path = at < 0 ? text : text.slice(0, at);
    const query = Object.fromEntries(new URLSearchParams(at < 0 ? "" : text.slice(at + 1)));
    return { parts: path.split("/").filter(Boolean).map(decoded), query };
}

function decoded(part) {
    try {
        return decodeURIComponent(part);
    } catch {
        return part;
    }
}

/** @returns {Match|null} The first route whose pattern (`session/:session`) fits. */
export function matching(routes, place) {
    for (const route of routes) {
        const pattern = route.path.split("/").filter(Boolean);
        if (pattern.length !== place.parts.length) continue;
        const params = {};
        const fits = pattern.every((piece, index) => {
            if (!piece.startsWith(":")) return piece === place.parts[index];
            params[piece.slice(1)] = place.parts[index];
            return true;
        });
        if (fits) return { route, params, query: place.query };
    }
    return null;
}

/**
 * @param {Route[]} routes
 * @returns {Router}
 */
export function createRouter(routes) {
    const current = shallowRef(matching(routes, placeOf(location.hash)));
    const guards = new Set();
    let shown = location.hash;

    async function changed() {
        if (location.hash === shown) return;
        const wanted = location.hash;
        for (const guard of [...guards]) {
            // Back to where we are until the guard lets us go.
            location.replace(shown || "#/");
            if (!(await guard())) return;
            guards.delete(guard);
            location.hash = wanted;
            return;
        }
        shown = wanted;
        current.value = matching(routes, placeOf(wanted));
    }
    window.addEventListener("hashchange", changed);

    return {
        routes,
        get current() {
            return current.value;
        },
        go: (parts, query) => {
            location.hash = address(parts, query);
        },
        /** Change what is behind `?` without a new entry in the history. */
        refine: (query) => {
            const place = placeOf(location.hash);
            location.replace(address(place.parts, { ...place.query, ...query }));
        },
        /** Ask before the view is left (unsaved input); returns what ends that. */
        guard: (allows) => {
            guards.add(allows);
            return () => guards.delete(allows);
        },
    };
}
