/** One setting: the control that fits its type, made from what the API says of it. */

import { html } from "../../app/vue.js";
import { useApp } from "../../app/services.js";
import { ChoiceField, LongTextField, SwitchField, TextField } from "../../components/fields.js";
import { ListField } from "../../components/list_field.js";
import { SecretField } from "../../components/secret_field.js";
import { Entries } from "./entries.js";

/** The words of a text that comes in several languages. */
export function inLanguage(words, locale) {
    return words?.[locale] ?? words?.["en-US"] ?? "";
}

export const Setting = {
    props: {
        field: { type: Object, required: true },
        value: null,
        /** All that is wrong, by dotted key; an entry's fields stand below the entry's number. */
        problems: { type: Object, default: () => ({}) },
        /** The key under which problems of it stand, where it is not the field's own. */
        at: { type: String, default: "" },
        /** Names that are known, by the kind of what a list holds: `{tools: [...], skills: [...]}`. */
        known: { type: Object, default: () => ({}) },
    },
    emits: ["change"],
    setup(props, { emit }) {
        const { t, texts } = useApp();
        const change = (value) => emit("change", value);

        function shared() {
            const { field } = props;
            return {
                // AstrBot has one title for the name of an entry, in all languages at once
                label: field.key === "name" ? t("setting.name") : inLanguage(field.title, texts.locale) || field.key,
                hint: inLanguage(field.hint, texts.locale),
                problem: props.problems[props.at || field.key] ?? "",
                onChange: change,
            };
        }
        /** A number while it is one; what is none is sent as it stands, so that the plugin says what is wrong. */
        const number = (text) => change(text.trim() === "" || Number.isNaN(Number(text)) ? text : Number(text));

        const controls = {
            bool: () => html`<${SwitchField} ...${shared()} value=${props.value === true} />`,
            int: () => numeric("1"),
            float: () => numeric("any"),
            text: () => suggested(),
            long_text: () => html`<${LongTextField} ...${shared()} value=${String(props.value ?? "")} rows=${5} />`,
            choice: () => html`<${ChoiceField}
                ...${shared()}
                value=${String(props.value ?? "")}
                choices=${props.field.choices.map((each) => ({
                    value: each.value,
                    label: inLanguage(each.title, texts.locale) || each.value,
                }))}
            />`,
            list: () => html`<${ListField} ...${shared()} value=${props.value ?? []} suggestions=${known()} />`,
            secret: () => html`<${SecretField} ...${shared()} isSet=${props.field.is_set === true} value=${props.value} />`,
            entries: () => html`<${Entries} ...${shared()} field=${props.field} value=${props.value ?? []} problems=${props.problems} at=${props.at || props.field.key} />`,
        };
        function known() {
            const kind = props.field.key.split(".").at(-1);
            return props.known[kind] ?? (/tools|denied|allowed|_extra/.test(kind) ? (props.known.tools ?? []) : []);
        }
        function numeric(step) {
            const { minimum, maximum } = props.field;
            return html`<${TextField}
                ...${{ ...shared(), onChange: number }}
                type="number"
                step=${step}
                min=${minimum ?? undefined}
                max=${maximum ?? undefined}
                value=${props.value ?? ""}
            />`;
        }
        function suggested() {
            const choices = props.known[props.field.key.split(".").at(-1)];
            if (choices === undefined || choices.length === 0) {
                return html`<${TextField} ...${shared()} value=${String(props.value ?? "")} />`;
            }
            const value = String(props.value ?? "");
            const all = [...new Set(["", value, ...choices])];
            return html`<${ChoiceField} ...${shared()} value=${value} choices=${all.map((each) => ({ value: each, label: each || "—" }))} />`;
        }
        return () => controls[props.field.type]();
    },
};
