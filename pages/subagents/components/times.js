/** Moments and durations that go on by themselves. */

import { html } from "../app/vue.js";
import { useApp } from "../app/services.js";

/** "3 min ago", with the whole moment in its title. */
export const Ago = {
    props: { at: { type: String, default: null } },
    setup(props) {
        const { texts, clock } = useApp();
        const now = clock.use();
        return () =>
            props.at
                ? html`<time datetime=${props.at} title=${texts.format.moment(props.at)}>
                      ${texts.format.ago(props.at, now.value)}
                  </time>`
                : null;
    },
};

/** How long something took, or takes until now when `to` is null. */
export const Took = {
    props: { from: { type: String, default: null }, to: { type: String, default: null } },
    setup(props) {
        const { texts, clock } = useApp();
        const now = clock.use();
        return () => {
            if (!props.from) return null;
            const end = props.to ? Date.parse(props.to) : now.value;
            return html`<span class="took">${texts.format.duration(end - Date.parse(props.from))}</span>`;
        };
    },
};
