/** Line icons of the page, drawn here, on a square of 24. They are decoration: the words stand beside them. */

import { h } from "../app/vue.js";

const PATHS = {
    agents: "M12 4v3M7 7h10a2 2 0 0 1 2 2v7a2 2 0 0 1-2 2H7a2 2 0 0 1-2-2V9a2 2 0 0 1 2-2zM9 12v1.5M15 12v1.5M2.5 11.5v3M21.5 11.5v3",
    alert: "M12 4 2.8 19.5h18.4zM12 10v4.5M12 17.2v.1",
    back: "M15 5l-7 7 7 7",
    board: "M5 4h14v11l-5 5H5zM14 20v-5h5M8.5 8.5h7M8.5 12h4",
    chart: "M4 20h16M7 16v-5M12 16V6M17 16v-8",
    check: "M5 12.5l4.5 4.5L19 7.5",
    clock: "M12 3.5a8.5 8.5 0 1 1 0 17 8.5 8.5 0 0 1 0-17zM12 7.5V12l3 2",
    close: "M6 6l12 12M18 6L6 18",
    copy: "M9 9h10v10H9zM5 15V5h10",
    down: "M6 9l6 6 6-6",
    edit: "M4 20h4L19 9l-4-4L4 16zM13 7l4 4",
    file: "M6 3.5h8l4 4v13H6zM14 3.5v4h4",
    forward: "M9 5l7 7-7 7",
    globe: "M12 3.5a8.5 8.5 0 1 1 0 17 8.5 8.5 0 0 1 0-17zM3.5 12h17M12 3.5c-5 5-5 12 0 17 5-5 5-12 0-17z",
    grid: "M4 4h7v7H4zM13 4h7v7h-7zM4 13h7v7H4zM13 13h7v7h-7z",
    info: "M12 3.5a8.5 8.5 0 1 1 0 17 8.5 8.5 0 0 1 0-17zM12 11v5M12 8v.1",
    leave: "M14 4H5v16h9M10 12h10M17 8.5l3.5 3.5-3.5 3.5",
    link: "M10 14l8-8M13 5h6v6M18 14v5H5V6h5",
    lock: "M6 11h12v9H6zM8.5 11V8a3.5 3.5 0 0 1 7 0v3",
    minus: "M5 12h14",
    moon: "M19.5 14.5A8 8 0 0 1 9.5 4.5a8 8 0 1 0 10 10z",
    more: "M6 12v.1M12 12v.1M18 12v.1",
    offline: "M3 3l18 18M5 12.5a10 10 0 0 1 4-2.4M19 12.5a10 10 0 0 0-6-2.9M8.5 16a5 5 0 0 1 7 0M12 19.2v.1",
    plus: "M12 5v14M5 12h14",
    question: "M12 3.5a8.5 8.5 0 1 1 0 17 8.5 8.5 0 0 1 0-17zM9.5 9.5a2.5 2.5 0 1 1 3.6 2.2c-.8.4-1.1.9-1.1 1.8M12 16.5v.1",
    queue: "M4 6h16M4 12h10M4 18h6",
    reset: "M4.5 9.5A8 8 0 1 1 4 13M4 4.5v5h5",
    retry: "M19.5 9.5A8 8 0 1 0 20 13M20 4.5v5h-5",
    run: "M7 4.5v15l12-7.5z",
    search: "M10.5 4a6.5 6.5 0 1 1 0 13 6.5 6.5 0 0 1 0-13zM15.5 15.5L20 20",
    send: "M4 12l16-8-6 16-3-6.5zM11 13.5L20 4",
    sessions: "M4 5h16v11H10l-4.5 4v-4H4z",
    settings: "M4 7h10M18 7h2M14 5v4M4 12h3M11 12h9M7 10v4M4 17h9M17 17h3M13 15v4",
    stop: "M6.5 6.5h11v11h-11z",
    sun: "M12 8a4 4 0 1 1 0 8 4 4 0 0 1 0-8zM12 2.5v2M12 19.5v2M2.5 12h2M19.5 12h2M5.3 5.3l1.4 1.4M17.3 17.3l1.4 1.4M18.7 5.3l-1.4 1.4M6.7 17.3l-1.4 1.4",
    system: "M3.5 5h17v11h-17zM9 20h6M12 16v4",
    timeline: "M4 6h7M8 12h9M13 18h7",
    tool: "M14.5 6.5a4 4 0 0 1 5-1.2l-2.7 2.7.7 1.7 1.7.7 2.5-2.5a4 4 0 0 1-5.4 5L9 20l-3-3 7.2-7.2a4 4 0 0 1 1.3-3.3z",
    trash: "M5 7h14M10 7V4.5h4V7M7 7l.8 13h8.4L17 7M10.5 10.5v6M13.5 10.5v6",
    up: "M6 15l6-6 6 6",
    unlock: "M6 11h12v9H6zM8.5 11V8a3.5 3.5 0 0 1 6.7-1.4",
};

/** `<${Icon} name="plus" />` */
export function Icon(props) {
    return h("svg", { class: "icon", viewBox: "0 0 24 24", "aria-hidden": "true", focusable: "false" }, [
        h("path", { d: PATHS[props.name] }),
    ]);
}
Icon.props = { name: { type: String, required: true } };
