/**
 * A card with a heading. Slots: default; `actions` (at the right of the heading).
 * `<${Panel} title=${title}>content<//>`
 */

import { html, useId } from "../app/vue.js";

export const Panel = {
    props: {
        title: { type: String, required: true },
        /** A figure beside the title. */
        count: { type: [Number, String], default: undefined },
        /** Nothing around the content: it is a list that goes to the edges. */
        flush: Boolean,
    },
    setup(props, { slots }) {
        const id = useId();
        return () => html`
            <section class="panel" aria-labelledby=${id}>
                <header class="panel-head">
                    <h2 id=${id}>${props.title}</h2>
                    ${props.count !== undefined && html`<span class="count">${props.count}</span>`}
                    ${slots.actions && html`<div class="panel-actions">${slots.actions()}</div>`}
                </header>
                <div class=${["panel-content", { flush: props.flush }]}>${slots.default?.()}</div>
            </section>
        `;
    },
};
