/** Toasts and the question before something is lost, both from `app/notices.js`. */

import { html, Teleport, TransitionGroup } from "../app/vue.js";
import { useApp } from "../app/services.js";
import { ActionButton, IconButton } from "./button.js";
import { Dialog } from "./dialog.js";
import { Icon } from "./icon.js";

const ICONS = { done: "check", error: "alert" };

export const Toasts = {
    setup() {
        const { t, notices } = useApp();
        return () => html`
            <${Teleport} to=${notices.layers.at(-1) ?? "body"}>
                <div class="toasts" role="region" aria-label=${t("shell.notices")}>
                    <div aria-live="polite">
                        <${TransitionGroup} name="toast">
                            ${notices.state.toasts.map(
                                (toast) => html`
                                    <div
                                        key=${toast.id}
                                        class=${["toast", toast.kind]}
                                        role=${toast.kind === "error" ? "alert" : undefined}
                                    >
                                        <${Icon} name=${ICONS[toast.kind]} />
                                        <p>${toast.text}</p>
                                        <${IconButton}
                                            icon="close"
                                            label=${t("action.dismiss")}
                                            onPress=${() => notices.dismiss(toast.id)}
                                        />
                                    </div>
                                `,
                            )}
                        <//>
                    </div>
                </div>
            <//>
        `;
    },
};

export const Question = {
    setup() {
        const { t, notices } = useApp();
        return () => {
            const asked = notices.state.question;
            if (asked === null) return null;
            return html`
                <${Dialog} title=${asked.title} alert onClose=${() => asked.answer(false)}>
                    ${{
                        default: () => asked.text && html`<p>${asked.text}</p>`,
                        actions: () => html`
                            <${ActionButton} onPress=${() => asked.answer(false)}>${t("action.cancel")}<//>
                            <${ActionButton}
                                kind=${asked.danger ? "danger" : "primary"}
                                onPress=${() => asked.answer(true)}
                            >
                                ${asked.action}
                            <//>
                        `,
                    }}
                <//>
            `;
        };
    },
};
