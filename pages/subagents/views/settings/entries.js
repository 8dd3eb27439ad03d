/** A list of entries of several fields each, such as tool filters: added, removed, changed in place. */

import { html } from "../../app/vue.js";
import { useApp } from "../../app/services.js";
import { ActionButton, IconButton } from "../../components/button.js";
import { Dropped } from "./dropped.js";
import { withoutAField } from "./problems.js";
import { Setting } from "./setting.js";

export const Entries = {
    props: {
        field: { type: Object, required: true },
        label: { type: String, required: true },
        hint: { type: String, default: "" },
        problem: { type: String, default: "" },
        value: { type: Array, required: true },
        problems: { type: Object, default: () => ({}) },
        at: { type: String, required: true },
    },
    emits: ["change"],
    setup(props, { emit }) {
        const { t } = useApp();
        const add = () => emit("change", [...props.value, newEntry(props.field.fields)]);
        const remove = (index) => emit("change", props.value.toSpliced(index, 1));
        const change = (index, key, value) => emit("change", props.value.with(index, { ...props.value[index], [key]: value }));

        return () => html`
            <fieldset class=${["field entries", { wrong: props.problem }]}>
                <legend>${props.label}</legend>
                ${props.hint && html`<p class="hint">${props.hint}</p>`}
                ${props.problem && html`<p class="problem" role="alert">${props.problem}</p>`}
                ${props.value.map(
                    (entry, index) => html`
                        <div key=${index} class="entry" role="group" aria-label=${entry.name || t("entries.new")}>
                            <div class="entry-head">
                                <strong class="break">${entry.name || t("entries.new")}</strong>
                                <${IconButton} icon="trash" kind="danger" label=${t("entries.remove", { name: entry.name || t("entries.new") })} onPress=${() => remove(index)} />
                            </div>
                            <${Dropped} problems=${withoutAField(props.problems, `${props.at}.${index}`, props.field.fields)} />
                            ${props.field.fields.map(
                                (field) => html`<${Setting}
                                    key=${field.key}
                                    field=${field}
                                    value=${entry[field.key]}
                                    problems=${props.problems}
                                    at=${`${props.at}.${index}.${field.key}`}
                                    onChange=${(value) => change(index, field.key, value)}
                                />`,
                            )}
                        </div>
                    `,
                )}
                <div><${ActionButton} small icon="plus" onPress=${add}>${t("entries.add")}<//></div>
            </fieldset>
        `;
    },
};

/** An entry with all its defaults. */
export function newEntry(fields) {
    return Object.fromEntries(fields.map((field) => [field.key, structuredClone(field.default)]));
}
