/** A list of short texts: chips that can be taken away, and a line to add one; Enter or a comma adds. */

import { html, shallowRef, useId } from "../app/vue.js";
import { useApp } from "../app/services.js";
import { field, SHARED } from "./fields.js";

export const ListField = {
    props: {
        ...SHARED,
        value: { type: Array, default: () => [] },
        /** What is suggested while one types. */
        suggestions: { type: Array, default: () => [] },
    },
    emits: ["change"],
    setup(props, { emit }) {
        const { t } = useApp();
        const id = useId();
        const text = shallowRef("");

        function add() {
            const added = text.value
                .split(",")
                .map((each) => each.trim())
                .filter((each) => each && !props.value.includes(each));
            text.value = "";
            if (added.length > 0) emit("change", [...props.value, ...added]);
        }
        function pressed(event) {
            if (event.key !== "Enter" && event.key !== ",") return;
            if (event.isComposing) return;
            event.preventDefault();
            add();
        }
        const chips = () => html`
            <ul class="chips" aria-label=${props.label}>
                ${props.value.map(
                    (each, index) => html`
                        <li key=${`${index}-${each}`} class="chip">
                            <span class="break">${each}</span>
                            <button
                                type="button"
                                class="chip-remove"
                                aria-label=${t("list_field.remove", { name: each })}
                                disabled=${props.disabled}
                                onClick=${() => emit("change", props.value.toSpliced(index, 1))}
                            >
                                ×
                            </button>
                        </li>
                    `,
                )}
            </ul>
        `;
        const suggestions = () => html`
            <datalist id=${`${id}-known`}>
                ${props.suggestions.map((each) => html`<option key=${each} value=${each}></option>`)}
            </datalist>
        `;
        const control = (bound) => html`
            ${props.value.length > 0 && chips()}
            <input
                ...${bound}
                type="text"
                list=${props.suggestions.length > 0 ? `${id}-known` : undefined}
                value=${text.value}
                placeholder=${t("list_field.add")}
                onInput=${(event) => (text.value = event.target.value)}
                onKeydown=${pressed}
                onBlur=${add}
            />
            ${props.suggestions.length > 0 && suggestions()}
        `;
        return () => field(props, id, control);
    },
};
