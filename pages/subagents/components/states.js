/** What stands where there is nothing to show: not yet, nothing, or not to be had. */

import { html } from "../app/vue.js";
import { useApp } from "../app/services.js";
import { ActionButton } from "./button.js";
import { Icon } from "./icon.js";

/** Grey bars in the place of what is on its way. */
export const Loading = {
    props: { lines: { type: Number, default: 3 } },
    setup(props) {
        const { t } = useApp();
        return () => html`
            <div class="loading" role="status">
                <span class="sr-only">${t("state_of_page.loading")}</span>
                ${Array.from({ length: props.lines }, (_, index) => html`<div class="loading-bar" key=${index}></div>`)}
            </div>
        `;
    },
};

/** Nothing there: what would be here, and in the slot what to do about it. */
export const Empty = {
    props: { icon: { type: String, default: "info" }, title: { type: String, required: true }, text: String },
    setup(props, { slots }) {
        return () => html`
            <div class="empty">
                <div class="empty-icon"><${Icon} name=${props.icon} /></div>
                <p class="empty-title">${props.title}</p>
                ${props.text && html`<p class="empty-text">${props.text}</p>`}
                ${slots.default?.()}
            </div>
        `;
    },
};

/** It could not be read; again on a click. */
export const Failure = {
    props: { error: { type: Object, required: true } },
    emits: ["retry"],
    setup(props, { emit }) {
        const { t, notices } = useApp();
        return () => html`
            <div class="empty" role="alert">
                <div class="empty-icon bad"><${Icon} name="alert" /></div>
                <p class="empty-title">${t("state_of_page.failed")}</p>
                <p class="empty-text">${notices.errorText(props.error)}</p>
                <${ActionButton} icon="retry" onPress=${() => emit("retry")}>${t("action.try_again")}<//>
            </div>
        `;
    },
};

/**
 * Shows a resource (`useResource`): loading, failed, or the slot. What is shown already stays when a later
 * reading fails; a line above tells.
 */
export const Loaded = {
    props: { of: { type: Object, required: true }, lines: { type: Number, default: 3 } },
    setup(props, { slots }) {
        const { t, notices } = useApp();
        return () => {
            const { of } = props;
            if (of.data !== null) {
                return html`
                    <div>
                        ${of.stale &&
                        html`<div class="banner bad" role="alert">
                            <${Icon} name="alert" />
                            <span>${t("state_of_page.stale", { reason: notices.errorText(of.error) })}</span>
                            <${ActionButton} small onPress=${of.refresh}>${t("action.try_again")}<//>
                        </div>`}
                        ${slots.default(of.data)}
                    </div>
                `;
            }
            if (of.loading) return html`<${Loading} lines=${props.lines} />`;
            return html`<${Failure} error=${of.error} onRetry=${of.refresh} />`;
        };
    },
};
