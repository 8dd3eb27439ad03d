/** Small marks: the state of a run or an agent, a label. */

import { html } from "../app/vue.js";
import { useApp } from "../app/services.js";

/** `state` is a run's (queued, running, waiting, completed, ...) or "idle". Words and colour, never colour alone. */
export const StateBadge = {
    props: { state: { type: String, required: true } },
    setup(props) {
        const { t } = useApp();
        return () => html`
            <span class=${["state", props.state]}>
                <span class="dot" aria-hidden="true"></span>${t(`state.${props.state}`)}
            </span>
        `;
    },
};

/** A label; `tone`: "" | "accent" | "warn". */
export function Tag(props, { slots }) {
    return html`<span class=${["tag", props.tone]} title=${props.title}>${slots.default?.()}</span>`;
}
Tag.props = { tone: { type: String, default: "" }, title: { type: String, default: undefined } };
