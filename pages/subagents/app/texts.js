/** The words of the page in the language of its user. */

import { computed, shallowRef, watch } from "./vue.js";
import { createFormat } from "./format.js";

/** In AstrBot's oldest version only imports with a fixed name find their file. */
const SOURCES = {
    "en-US": () => import("../texts/en-US.js"),
    "zh-CN": () => import("../texts/zh-CN.js"),
    "ru-RU": () => import("../texts/ru-RU.js"),
};

/** The languages there are, each called by its own name. */
export const LANGUAGES = { "en-US": "English", "zh-CN": "简体中文", "ru-RU": "Русский" };

/** The language there is that fits a wish best. */
export function closest(wishes) {
    for (const wish of wishes) {
        if (!wish) continue;
        const primary = wish.toLowerCase().split("-")[0];
        const found = Object.keys(SOURCES).find((each) => each.toLowerCase().startsWith(primary));
        if (found !== undefined) return found;
    }
    return "en-US";
}

/**
 * The words for a key.
 *
 * @param {Record<string, string|Record<string, string>>} texts
 * @param {string} locale
 * @param {string} key An unknown one is shown as it is.
 * @param {Record<string, string|number>} [values] For `{name}`. `count` chooses among plural forms.
 */
export function worded(texts, locale, key, values = {}) {
    const found = texts[key];
    if (found === undefined) return key;
    const form =
        typeof found === "string" ? found : found[new Intl.PluralRules(locale).select(Number(values.count))];
    return (form ?? found.other).replace(/\{(\w+)\}/g, (whole, name) => {
        const value = values[name];
        if (value === undefined || value === null) return whole;
        return typeof value === "number" ? new Intl.NumberFormat(locale).format(value) : String(value);
    });
}

/**
 * @param {Host} host
 * @param {Memory} memory
 * @returns {Promise<Texts>} Resolves when the first language is there.
 */
export async function createTexts(host, memory) {
    const choice = shallowRef(memory.get("locale") ?? null);
    const wanted = computed(() =>
        closest(host.framed ? [host.context.locale] : [choice.value, ...navigator.languages]),
    );
    const shown = shallowRef({ locale: "en-US", texts: {} });

    async function load(locale) {
        const texts = (await SOURCES[locale]()).default;
        if (wanted.value !== locale) return;
        shown.value = { locale, texts };
        document.documentElement.lang = locale;
        document.title = texts["app.title"];
    }
    watch(wanted, load);
    // The wish may change while the words of the first one are on their way.
    do {
        await load(wanted.value);
    } while (shown.value.locale !== wanted.value);

    const format = computed(() => createFormat(shown.value.locale));
    return {
        get locale() {
            return shown.value.locale;
        },
        get format() {
            return format.value;
        },
        choose(locale) {
            choice.value = locale;
            memory.set("locale", locale);
        },
        t: (key, values) => worded(shown.value.texts, shown.value.locale, key, values),
        has: (key) => shown.value.texts[key] !== undefined,
    };
}
