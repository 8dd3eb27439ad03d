/** Buttons. */

import { html } from "../app/vue.js";
import { Icon } from "./icon.js";

/**
 * A button with words; while `busy` it can be reached but does nothing.
 * `kind`: "" (quiet), "primary" (one on a view), "danger".
 */
export const ActionButton = {
    props: {
        kind: { type: String, default: "" },
        icon: { type: String, default: "" },
        busy: Boolean,
        disabled: Boolean,
        type: { type: String, default: "button" },
        small: Boolean,
    },
    emits: ["press"],
    setup(props, { slots, emit }) {
        const press = (event) => {
            if (props.busy) event.preventDefault();
            else emit("press", event);
        };
        return () => html`
            <button
                type=${props.type}
                class=${["button", props.kind, { small: props.small, busy: props.busy }]}
                disabled=${props.disabled}
                aria-busy=${props.busy ? "true" : undefined}
                onClick=${press}
            >
                ${props.icon && html`<${Icon} name=${props.icon} />`}
                <span>${slots.default?.()}</span>
            </button>
        `;
    },
};

/** A button that is an icon only; its words are in `label`. */
export const IconButton = {
    props: {
        icon: { type: String, required: true },
        label: { type: String, required: true },
        kind: { type: String, default: "" },
        pressed: { type: Boolean, default: undefined },
        disabled: Boolean,
    },
    emits: ["press"],
    setup(props, { emit }) {
        return () => html`
            <button
                type="button"
                class=${["icon-button", props.kind]}
                aria-label=${props.label}
                aria-pressed=${props.pressed}
                title=${props.label}
                disabled=${props.disabled}
                onClick=${(event) => emit("press", event)}
            >
                <${Icon} name=${props.icon} />
            </button>
        `;
    },
};
