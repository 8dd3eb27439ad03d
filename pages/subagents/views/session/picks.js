/**
 * A choice among many names: all, none, or those ticked; a search above the ticks.
 * `value` is a list of names, `["*"]` stands for all; `choices`: `[{name, description?}]`.
 */

import { html, ref, useId } from "../../app/vue.js";
import { useApp } from "../../app/services.js";
import { Segments } from "../../components/fields.js";

const ALL = "*";
const SEARCH_FROM = 8;

export const Picks = {
    props: {
        label: { type: String, required: true },
        value: { type: Array, required: true },
        choices: { type: Array, required: true },
        /** Whether "all" may be chosen. */
        all: Boolean,
        problem: { type: String, default: "" },
    },
    emits: ["change"],
    setup(props, { emit }) {
        const { t } = useApp();
        const id = useId();
        const query = ref("");
        const mode = ref(props.value.includes(ALL) ? "all" : props.value.length > 0 ? "some" : "none");

        function choose(next) {
            mode.value = next;
            if (next === "all") emit("change", [ALL]);
            else emit("change", []);
        }
        function tick(name, on) {
            emit("change", on ? [...props.value, name] : props.value.filter((each) => each !== name));
        }
        /** What is ticked but no longer there stays to be seen. */
        function shown() {
            const known = new Set(props.choices.map((each) => each.name));
            const gone = props.value.filter((name) => name !== ALL && !known.has(name)).map((name) => ({ name }));
            const wanted = query.value.trim().toLowerCase();
            return [...gone, ...props.choices].filter(
                (each) => `${each.name} ${each.description ?? ""}`.toLowerCase().includes(wanted),
            );
        }
        const modes = () =>
            [props.all && "all", "some", "none"].filter(Boolean).map((value) => ({ value, label: t(`picks.${value}`) }));

        const ticks = () => html`
            ${props.choices.length >= SEARCH_FROM &&
            html`<input
                type="search"
                placeholder=${t("picks.search")}
                aria-label=${t("picks.search")}
                value=${query.value}
                onInput=${(event) => (query.value = event.target.value)}
            />`}
            <div class="picks">
                ${shown().map(
                    (each) => html`
                        <label key=${each.name}>
                            <input
                                type="checkbox"
                                checked=${props.value.includes(each.name)}
                                onChange=${(event) => tick(each.name, event.target.checked)}
                            />
                            <span>${each.name}</span>
                            ${each.description && html`<small class="clamp">${each.description}</small>`}
                        </label>
                    `,
                )}
                ${shown().length === 0 && html`<p class="hint picks-none">${t("picks.nothing")}</p>`}
            </div>
        `;
        return () => html`
            <div class=${["field", { wrong: props.problem }]} role="group" aria-labelledby=${id}>
                <div class="switch-line">
                    <span id=${id} class="field-title">${props.label}</span>
                    <${Segments} label=${props.label} value=${mode.value} choices=${modes()} onChange=${choose} />
                </div>
                ${mode.value === "some" && ticks()}
                ${props.problem && html`<p class="problem" role="alert">${props.problem}</p>`}
            </div>
        `;
    },
};
