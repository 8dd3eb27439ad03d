/** The plugin's settings: a form made from what the API says of them. Saved without a reload of the plugin. */

import { html, nextTick, shallowRef } from "../app/vue.js";
import { useAction } from "../app/actions.js";
import { useApp } from "../app/services.js";
import { useResource } from "../app/resource.js";
import { ActionButton } from "../components/button.js";
import { Filters } from "../components/filters.js";
import { Panel } from "../components/panel.js";
import { Empty, Loaded } from "../components/states.js";
import { useDraft } from "./settings/draft.js";
import { knownNames } from "./settings/known.js";
import { CHANGED } from "./settings/problems.js";
import { inLanguage, Setting } from "./settings/setting.js";

export const SettingsView = {
    props: { query: { type: Object, default: () => ({}) } },
    setup() {
        const { t, client, notices, texts } = useApp();
        const settings = useResource(() => client.get("settings"));
        const catalog = useResource(() => client.get("catalog"));
        const draft = useDraft();
        const action = useAction();
        const problems = shallowRef({});
        const search = shallowRef("");
        const form = shallowRef(null);
        /** The revision that the first unsaved change was made on. */
        let seen = null;

        async function save(event) {
            event.preventDefault();
            problems.value = {};
            const saved = await action.run(send);
            if (Object.keys(problems.value).length > 0) await showFirstProblem();
            else if (saved) {
                draft.clear();
                notices.done(t("settings.saved"));
            }
        }
        /** What is wrong with single settings is told beside them, and in a line above all. */
        async function send() {
            try {
                settings.set(await client.post("settings/save", { values: draft.values(), revision: seen }));
            } catch (error) {
                if (error.code === CHANGED) {
                    await settings.refresh();
                    seen = settings.data.revision;
                }
                problems.value = error.fields ?? {};
                if (Object.keys(problems.value).length === 0) throw error;
            }
        }
        async function showFirstProblem() {
            search.value = "";
            await nextTick();
            form.value?.querySelector('[aria-invalid="true"], .wrong input, .wrong button')?.focus();
        }
        function change(field, value) {
            if (!draft.isDirty()) seen = settings.data.revision;
            const before = valueOf(settings.data.values, field.key);
            const isSame = field.type === "secret" ? value === null : JSON.stringify(value) === JSON.stringify(before);
            if (isSame) draft.drop(field.key);
            else draft.set(field.key, value);
        }
        async function discard() {
            if (await notices.ask({ title: t("settings.discard"), text: t("ask.unsaved.text"), action: t("settings.discard.action"), danger: true })) {
                draft.clear();
                problems.value = {};
            }
        }
        const known = () => knownNames(catalog.data);
        const isFound = (field) => {
            const words = `${field.key} ${inLanguage(field.title, texts.locale)} ${inLanguage(field.hint, texts.locale)}`;
            return words.toLocaleLowerCase().includes(search.value.toLocaleLowerCase());
        };
        /** Those of a list's entries as they stand are told as well, until the list is changed. */
        const problemsOf = (field) =>
            field.type === "entries" && !(field.key in draft.values())
                ? { ...Object.fromEntries(settings.data.problems.map((each) => [each.key, each.text])), ...problems.value }
                : problems.value;
        const setting = (field, values) => html`
            <div key=${field.key} class="setting">
                <${Setting}
                    field=${field.type === "secret" ? { ...field, is_set: valueOf(values, field.key)?.is_set } : field}
                    value=${shownValue(field, values, draft.values())}
                    problems=${problemsOf(field)}
                    known=${known()}
                    onChange=${(value) => change(field, value)}
                />
                <${Foot} field=${field} values=${values} draft=${draft} onReset=${() => change(field, structuredClone(field.default))} />
            </div>
        `;
        const content = (found) => {
            const groups = Object.entries(Object.groupBy(found.schema.filter(isFound), (field) => field.group));
            return html`
                <div class="stack">
                    <${Remarks} found=${found} problems=${problems.value} />
                    ${groups.length === 0 && html`<${Empty} icon="search" title=${t("list.nothing_found")} />`}
                    ${groups.map(
                        ([group, fields]) => html`
                            <${Panel} key=${group} title=${t(`settings.group.${group || "general"}`)}>
                                <div class="setting-list">${fields.map((field) => setting(field, found.values))}</div>
                            <//>
                        `,
                    )}
                </div>
            `;
        };
        return () => html`
            <form ref=${form} class="stack" novalidate onSubmit=${save}>
                <h1>${t("nav.settings")}</h1>
                <${Filters} label=${t("settings.search")} value=${search.value} onSearch=${(text) => (search.value = text)} />
                <${Loaded} of=${settings} lines=${10}>${content}<//>
                ${draft.isDirty() &&
                html`<div class="save-bar" role="region" aria-label=${t("settings.unsaved_region")}>
                    <span role="status">${t("settings.unsaved", { count: Object.keys(draft.values()).length })}</span>
                    <${ActionButton} onPress=${discard}>${t("settings.discard.action")}<//>
                    <${ActionButton} kind="primary" type="submit" icon="check" busy=${action.busy}>${t("action.save")}<//>
                </div>`}
            </form>
        `;
    },
};

/** What is to be said of all of it: problems of the file, and what waits for a restart. */
const Remarks = {
    props: { found: { type: Object, required: true }, problems: { type: Object, required: true } },
    setup(props) {
        const { t } = useApp();
        return () => html`
            ${Object.keys(props.problems).length > 0 &&
            html`<div class="banner bad" role="alert">
                <span>${t("settings.wrong", { count: Object.keys(props.problems).length })}</span>
            </div>`}
            ${(props.found.restart_needed ?? []).length > 0 &&
            html`<div class="banner warn" role="status">
                <span>${t("settings.restart", { keys: props.found.restart_needed.join(", ") })}</span>
            </div>`}
            ${props.found.problems.map(
                (each, index) => html`<div key=${index} class="banner warn" role="status">
                    <span>${each.text}</span>
                </div>`,
            )}
        `;
    },
};

/** Below a setting: its key, and back to the default where it differs. */
const Foot = {
    props: {
        field: { type: Object, required: true },
        values: { type: Object, required: true },
        draft: { type: Object, required: true },
    },
    emits: ["reset"],
    setup(props, { emit }) {
        const { t } = useApp();
        return () => {
            const { field } = props;
            const value = shownValue(field, props.values, props.draft.values());
            const differs = field.type !== "secret" && JSON.stringify(value) !== JSON.stringify(field.default);
            return html`
                <div class="setting-foot">
                    <code>${field.key}</code>
                    ${field.key in props.draft.values() && html`<span class="tag accent">${t("settings.changed")}</span>`}
                    ${differs && html`<button type="button" class="link" onClick=${() => emit("reset")}>${t("settings.to_default")}</button>`}
                </div>
            `;
        };
    },
};

function valueOf(values, key) {
    return key.split(".").reduce((inner, part) => inner?.[part], values);
}

function shownValue(field, values, changed) {
    if (field.key in changed) return changed[field.key];
    return field.type === "secret" ? null : valueOf(values, field.key);
}
