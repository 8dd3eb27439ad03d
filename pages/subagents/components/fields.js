/**
 * Fields of forms: a label, the control, a hint, what is wrong with it. All take `value` and give `onChange`.
 */

import { html, onMounted, ref, useId } from "../app/vue.js";

export const SHARED = {
    label: { type: String, required: true },
    hint: { type: String, default: "" },
    /** What is wrong; "" nothing. */
    problem: { type: String, default: "" },
    disabled: Boolean,
};

/** The frame of a field; the control gets what binds it to the label, the hint and the problem. */
export function field(props, id, control) {
    const described = [props.hint && `${id}-hint`, props.problem && `${id}-problem`].filter(Boolean).join(" ");
    const bound = {
        id,
        disabled: props.disabled,
        "aria-describedby": described || undefined,
        "aria-invalid": props.problem ? "true" : undefined,
    };
    return html`
        <div class=${["field", { wrong: props.problem }]}>
            <label for=${id}>${props.label}</label>
            ${control(bound)}
            ${props.hint && html`<p id=${`${id}-hint`} class="hint">${props.hint}</p>`}
            ${props.problem && html`<p id=${`${id}-problem`} class="problem" role="alert">${props.problem}</p>`}
        </div>
    `;
}

/** One line of text; `type` as of an input. */
export const TextField = {
    props: {
        ...SHARED,
        value: { type: [String, Number], default: "" },
        type: { type: String, default: "text" },
        required: Boolean,
        placeholder: String,
        autofocus: Boolean,
        min: Number,
        max: Number,
        step: [Number, String],
    },
    emits: ["change"],
    setup(props, { emit }) {
        const id = useId();
        const input = ref(null);
        // The browser heeds "autofocus" only when a page or a dialog opens.
        onMounted(() => props.autofocus && input.value.focus());
        return () =>
            field(
                props,
                id,
                (bound) => html`<input
                    ref=${input}
                    ...${bound}
                    type=${props.type}
                    value=${props.value}
                    required=${props.required}
                    placeholder=${props.placeholder}
                    min=${props.min}
                    max=${props.max}
                    step=${props.step}
                    onInput=${(event) => emit("change", event.target.value)}
                />`,
            );
    },
};

/** Several lines of text. */
export const LongTextField = {
    props: {
        ...SHARED,
        value: { type: String, default: "" },
        rows: { type: Number, default: 4 },
        required: Boolean,
        placeholder: String,
    },
    emits: ["change"],
    setup(props, { emit }) {
        const id = useId();
        return () =>
            field(
                props,
                id,
                (bound) => html`<textarea
                    ...${bound}
                    rows=${props.rows}
                    value=${props.value}
                    required=${props.required}
                    placeholder=${props.placeholder}
                    onInput=${(event) => emit("change", event.target.value)}
                ></textarea>`,
            );
    },
};

/** One of several; `choices`: `[{value, label}]`. */
export const ChoiceField = {
    props: { ...SHARED, value: { type: String, default: "" }, choices: { type: Array, required: true } },
    emits: ["change"],
    setup(props, { emit }) {
        const id = useId();
        return () =>
            field(
                props,
                id,
                (bound) => html`<select
                    ...${bound}
                    value=${props.value}
                    onChange=${(event) => emit("change", event.target.value)}
                >
                    ${props.choices.map(
                        (each) => html`<option key=${each.value} value=${each.value}>${each.label}</option>`,
                    )}
                </select>`,
            );
    },
};

/** On or off. */
export const SwitchField = {
    props: { ...SHARED, value: Boolean },
    emits: ["change"],
    setup(props, { emit }) {
        const id = useId();
        return () => html`
            <div class=${["field switch-field", { wrong: props.problem }]}>
                <div class="switch-line">
                    <label for=${id}>${props.label}</label>
                    <button
                        id=${id}
                        type="button"
                        role="switch"
                        class="switch"
                        aria-checked=${props.value ? "true" : "false"}
                        aria-describedby=${props.hint ? `${id}-hint` : undefined}
                        disabled=${props.disabled}
                        onClick=${() => emit("change", !props.value)}
                    >
                        <span class="switch-knob"></span>
                    </button>
                </div>
                ${props.hint && html`<p id=${`${id}-hint`} class="hint">${props.hint}</p>`}
                ${props.problem && html`<p class="problem" role="alert">${props.problem}</p>`}
            </div>
        `;
    },
};

/** A few choices side by side; `choices`: `[{value, label}]`, values of any type. */
export const Segments = {
    props: { label: { type: String, required: true }, value: null, choices: { type: Array, required: true }, disabled: Boolean },
    emits: ["change"],
    setup(props, { emit }) {
        const name = useId();
        return () => html`
            <div class="segments" role="radiogroup" aria-label=${props.label}>
                ${props.choices.map(
                    (each) => html`
                        <label key=${String(each.value)} class=${{ chosen: each.value === props.value }}>
                            <input
                                type="radio"
                                name=${name}
                                checked=${each.value === props.value}
                                disabled=${props.disabled}
                                onChange=${() => emit("change", each.value)}
                            />
                            <span>${each.label}</span>
                        </label>
                    `,
                )}
            </div>
        `;
    },
};
