/** A text as it stands, cut while it is long; a click shows all of it. */

import { html, shallowRef } from "../../app/vue.js";
import { useApp } from "../../app/services.js";

const SHOWN = 1_200;

export const Fold = {
    props: {
        text: { type: String, required: true },
        /** What it is, for who cannot see what the button belongs to. */
        label: { type: String, required: true },
        /** In letters of one width. */
        mono: Boolean,
    },
    setup(props) {
        const { t, texts } = useApp();
        const isOpen = shallowRef(false);
        return () => {
            const isLong = props.text.length > SHOWN;
            const shown = isLong && !isOpen.value ? `${props.text.slice(0, SHOWN)}…` : props.text;
            return html`
                <div class="fold">
                    <div class=${["plain", { mono: props.mono }]} dir="auto">${shown}</div>
                    ${isLong &&
                    html`<button
                        type="button"
                        class="link"
                        aria-expanded=${isOpen.value ? "true" : "false"}
                        aria-label=${`${props.label}: ${t(isOpen.value ? "run.fold.less" : "run.fold.all", { size: texts.format.number(props.text.length) })}`}
                        onClick=${() => (isOpen.value = !isOpen.value)}
                    >
                        ${t(isOpen.value ? "run.fold.less" : "run.fold.all", { size: texts.format.number(props.text.length) })}
                    </button>`}
                </div>
            `;
        };
    },
};
