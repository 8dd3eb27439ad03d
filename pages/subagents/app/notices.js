/** What the page tells in passing (toasts) and asks before something is lost (the confirm dialog). */

import { reactive, shallowReactive } from "./vue.js";

const SHOWN_MILLISECONDS = 5_000;
const ERROR_MILLISECONDS = 10_000;

/**
 * @param {Texts} texts
 * @returns {Notices}
 */
export function createNotices(texts) {
    const state = reactive({ toasts: [], question: null });
    let lastId = 0;

    function dismiss(id) {
        state.toasts = state.toasts.filter((each) => each.id !== id);
    }
    function show(kind, text) {
        const id = ++lastId;
        state.toasts = [...state.toasts.slice(-3), { id, kind, text }];
        setTimeout(() => dismiss(id), kind === "error" ? ERROR_MILLISECONDS : SHOWN_MILLISECONDS);
    }
    const errorText = (error) => describeError(texts, error);

    return {
        state,
        /** The open dialogs, the topmost last: toasts show in it, since all else is out of reach then. */
        layers: shallowReactive([]),
        dismiss,
        done: (text) => show("done", text),
        failed: (error) => show("error", typeof error === "string" ? error : errorText(error)),
        errorText,
        /**
         * Ask first.
         * @param {{title: string, text?: string, action: string, danger?: boolean}} question
         * @returns {Promise<boolean>}
         */
        ask: (question) =>
            new Promise((resolve) => {
                state.question?.answer(false);
                const answer = (yes) => {
                    if (state.question?.answer === answer) state.question = null;
                    resolve(yes);
                };
                state.question = { ...question, answer };
            }),
    };
}

/** An error in the language of the user: by its code where the page knows it, else as the plugin says. */
export function describeError(texts, error) {
    const key = `error.${error?.code}`;
    if (texts.has(key)) return texts.t(key, { message: error.message });
    return error?.message ? texts.t("error.other", { message: error.message }) : texts.t("error.unknown");
}
