/** A list of short texts: chips that can be taken away, and a line to add one; Enter or a comma adds. */

import { html, shallowRef, useId } from "../app/vue.js";
import { useApp } from "../app/services.js";

export const ListField = {
    props: {
        label: { type: String, required: true },
        hint: { type: String, default: "" },
        problem: { type: String, default: "" },
        value: { type: Array, default: () => [] },
        /** What is suggested while one types. */
        suggestions: { type: Array, default: () => [] },
        disabled: Boolean,
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
        return () => html`
            <div class=${["field", { wrong: props.problem }]}>
                <label for=${id}>${props.label}</label>
                ${props.value.length > 0 &&
                html`<ul class="chips" aria-label=${props.label}>
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
                </ul>`}
                <input
                    id=${id}
                    type="text"
                    list=${props.suggestions.length > 0 ? `${id}-known` : undefined}
                    value=${text.value}
                    placeholder=${t("list_field.add")}
                    disabled=${props.disabled}
                    aria-invalid=${props.problem ? "true" : undefined}
                    aria-describedby=${[props.hint && `${id}-hint`, props.problem && `${id}-problem`].filter(Boolean).join(" ") || undefined}
                    onInput=${(event) => (text.value = event.target.value)}
                    onKeydown=${pressed}
                    onBlur=${add}
                />
                ${props.suggestions.length > 0 &&
                html`<datalist id=${`${id}-known`}>
                    ${props.suggestions.map((each) => html`<option key=${each} value=${each}></option>`)}
                </datalist>`}
                ${props.hint && html`<p id=${`${id}-hint`} class="hint">${props.hint}</p>`}
                ${props.problem && html`<p id=${`${id}-problem`} class="problem" role="alert">${props.problem}</p>`}
            </div>
        `;
    },
};
