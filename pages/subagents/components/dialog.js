/**
 * A dialog over the page. The browser's own `<dialog>` keeps the focus inside and gives it back.
 *
 * `onClose` is asked for by Escape, by the cross and by a click beside it; the owner decides and stops
 * showing it. Slots: default (the content), `actions` (the buttons at its foot).
 */

import { html, onBeforeUnmount, onMounted, ref, useId } from "../app/vue.js";
import { useApp } from "../app/services.js";
import { IconButton } from "./button.js";

export const Dialog = {
    props: {
        title: { type: String, required: true },
        wide: Boolean,
        /** Role "alertdialog": it interrupts with a question. */
        alert: Boolean,
    },
    emits: ["close"],
    setup(props, { slots, emit }) {
        const { t, notices } = useApp();
        const element = ref(null);
        const id = useId();
        /** What is to be done first: a field, or of a question the answer that changes nothing. */
        const first = () => {
            const place = props.alert ? ".dialog-actions button" : ".dialog-content :is(input, textarea, select):enabled";
            return element.value.querySelector(place);
        };
        let dialog = null;
        onMounted(() => {
            dialog = element.value;
            dialog.showModal();
            first()?.focus();
            notices.layers.push(dialog);
        });
        onBeforeUnmount(() => {
            notices.layers.splice(notices.layers.indexOf(dialog), 1);
            dialog.close();
        });
        const cancelled = (event) => {
            event.preventDefault();
            emit("close");
        };
        const pressed = (event) => {
            if (event.target === element.value) emit("close");
        };
        return () => html`
            <dialog
                ref=${element}
                class=${["dialog", { wide: props.wide }]}
                role=${props.alert ? "alertdialog" : undefined}
                aria-labelledby=${id}
                onCancel=${cancelled}
                onMousedown=${pressed}
            >
                <div class="dialog-body">
                    <header class="dialog-head">
                        <h2 id=${id}>${props.title}</h2>
                        <${IconButton} icon="close" label=${t("action.close")} onPress=${() => emit("close")} />
                    </header>
                    <div class="dialog-content">${slots.default?.()}</div>
                    ${slots.actions && html`<footer class="dialog-actions">${slots.actions()}</footer>`}
                </div>
            </dialog>
        `;
    },
};
