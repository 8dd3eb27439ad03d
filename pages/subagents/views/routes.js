/**
 * The views and their addresses. A view is a component in a file of its own, loaded when it is first shown;
 * it gets the parts of the path as props, and `query`.
 *
 * Imports name their file in plain text: AstrBot 4.26 rewrites them by what stands there.
 */

import { address } from "../app/router.js";
import { shortSession } from "../app/session_name.js";

/** @type {Route[]} */
export const ROUTES = [
    {
        name: "overview",
        path: "",
        nav: { icon: "grid", title: "nav.overview" },
        load: async () => (await import("./overview.js")).Overview,
    },
    {
        name: "sessions",
        path: "sessions",
        nav: { icon: "sessions", title: "nav.sessions" },
        load: async () => (await import("./sessions.js")).Sessions,
    },
    {
        name: "session",
        path: "session/:session",
        under: "sessions",
        crumbs: ({ session }) => [
            { key: "nav.sessions", href: address(["sessions"]) },
            { text: shortSession(session), href: address(["session", session]) },
        ],
        load: async () => (await import("./session.js")).Session,
    },
    {
        name: "runs",
        path: "runs",
        nav: { icon: "run", title: "nav.runs" },
        load: async () => (await import("./runs.js")).Runs,
    },
    {
        name: "run",
        path: "session/:session/run/:run",
        under: "sessions",
        crumbs: ({ session, run }) => [
            { key: "nav.sessions", href: address(["sessions"]) },
            { text: shortSession(session), href: address(["session", session]) },
            { text: run, href: address(["session", session, "run", run]) },
        ],
        load: async () => (await import("./run.js")).Run,
    },
    {
        name: "usage",
        path: "usage",
        nav: { icon: "chart", title: "nav.usage" },
        load: async () => (await import("./usage.js")).Usage,
    },
    {
        name: "agents",
        path: "agents",
        nav: { icon: "agents", title: "nav.agents" },
        load: async () => (await import("./agents.js")).Agents,
    },
    {
        name: "settings",
        path: "settings",
        nav: { icon: "settings", title: "nav.settings" },
        load: async () => (await import("./settings.js")).SettingsView,
    },
];
