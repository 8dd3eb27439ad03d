/** The line above a list: a search that waits until one has typed, and further controls in the slot. */

import { html, onUnmounted, useId } from "../app/vue.js";
import { Icon } from "./icon.js";

const WAIT = 250;

export const Filters = {
    props: { label: { type: String, required: true }, value: { type: String, default: "" } },
    emits: ["search"],
    setup(props, { slots, emit }) {
        const id = useId();
        let timer = 0;
        const typed = (event) => {
            clearTimeout(timer);
            timer = setTimeout(() => emit("search", event.target.value.trim()), WAIT);
        };
        onUnmounted(() => clearTimeout(timer));
        return () => html`
            <div class="filters" role="search">
                <div class="search">
                    <${Icon} name="search" />
                    <label for=${id} class="sr-only">${props.label}</label>
                    <input id=${id} type="search" value=${props.value} placeholder=${props.label} onInput=${typed} />
                </div>
                ${slots.default?.()}
            </div>
        `;
    },
};

/** A choice that needs no line of its own: its label is read, not seen. */
export const Choice = {
    props: {
        label: { type: String, required: true },
        value: { type: String, default: "" },
        /** `[{value, label}]` */
        choices: { type: Array, required: true },
    },
    emits: ["choose"],
    setup(props, { emit }) {
        return () => html`
            <select
                class="filter-choice"
                aria-label=${props.label}
                value=${props.value}
                onChange=${(event) => emit("choose", event.target.value)}
            >
                ${props.choices.map((each) => html`<option key=${each.value} value=${each.value}>${each.label}</option>`)}
            </select>
        `;
    },
};
