/** What is wrong with settings as they stand in the bot's configuration. */

/** The code of a saving that was refused since somebody else had saved. */
export const CHANGED = "settings_changed";

/**
 * What is wrong with one entry of a list, and with its fields.
 *
 * @param {{key: string, text: string}[]} problems
 * @param {string} key The dotted key of the entry, with its number.
 * @returns {Record<string, string>} By dotted key.
 */
export function problemsBelow(problems, key) {
    const found = problems.filter((each) => each.key === key || each.key.startsWith(`${key}.`));
    return Object.fromEntries(found.map((each) => [each.key, each.text]));
}

/**
 * Of what is wrong with an entry, that for which it has no field, such as a mistyped key.
 *
 * @param {Record<string, string>} problems
 * @param {string} key The entry's.
 * @param {{key: string}[]} fields The entry's.
 */
export function withoutAField(problems, key, fields) {
    const known = new Set(fields.map((field) => `${key}.${field.key}`));
    return Object.entries(problems)
        .filter(([each]) => (each === key || each.startsWith(`${key}.`)) && !known.has(each))
        .map(([, text]) => text);
}
