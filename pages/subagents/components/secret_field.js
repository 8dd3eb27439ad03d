/** A secret: it is never shown, only replaced or cleared. `value` is null as long as it stays as it is. */

import { html } from "../app/vue.js";
import { useApp } from "../app/services.js";
import { ActionButton } from "./button.js";
import { TextField } from "./fields.js";

export const SecretField = {
    props: {
        label: { type: String, required: true },
        hint: { type: String, default: "" },
        problem: { type: String, default: "" },
        isSet: Boolean,
        value: { type: String, default: null },
    },
    emits: ["change"],
    setup(props, { emit }) {
        const { t } = useApp();
        const state = () => {
            if (props.value === "") return "secret.will_be_cleared";
            if (props.value !== null) return "secret.will_be_replaced";
            return props.isSet ? "secret.is_set" : "secret.is_not_set";
        };
        return () => html`
            <div class="secret">
                <${TextField}
                    label=${props.label}
                    hint=${props.hint}
                    problem=${props.problem}
                    type="password"
                    value=${props.value ?? ""}
                    placeholder=${t(state())}
                    onChange=${(value) => emit("change", value === "" ? null : value)}
                />
                <div class="row">
                    <span class="hint">${t(state())}</span>
                    ${props.value !== null &&
                    html`<${ActionButton} small onPress=${() => emit("change", null)}>${t("secret.keep")}<//>`}
                    ${props.isSet &&
                    props.value === null &&
                    html`<${ActionButton} small onPress=${() => emit("change", "")}>${t("secret.clear")}<//>`}
                </div>
            </div>
        `;
    },
};
