/** One message of a transcript: words, tool calls (folded), a tool's result (folded). Text only, never markup. */

import { html, shallowRef } from "../../app/vue.js";
import { useApp } from "../../app/services.js";
import { Icon } from "../../components/icon.js";
import { Fold } from "./fold.js";

const ICONS = { user: "send", assistant: "agents", tool: "tool", system: "system" };

export const Message = {
    props: { message: { type: Object, required: true }, number: { type: Number, required: true } },
    setup(props) {
        const { t, texts } = useApp();

        function figures({ tokens, seconds, step }) {
            const parts = [
                step && t("run.message.step", { count: step }),
                tokens && t("run.message.tokens", { in: texts.format.short(tokens.input + tokens.cached), out: texts.format.short(tokens.output) }),
                seconds !== null && seconds !== undefined && texts.format.duration(seconds * 1000),
            ].filter(Boolean);
            return parts.length > 0 && html`<span class="message-figures">${parts.join(" · ")}</span>`;
        }
        return () => {
            const { message } = props;
            const role = t(`run.role.${message.role}`);
            return html`
                <article class=${["message", message.role]} aria-label=${`${props.number}. ${role}`}>
                    <header class="message-head">
                        <${Icon} name=${ICONS[message.role] ?? "info"} />
                        <strong>${role}</strong>
                        ${message.at && html`<time class="muted" datetime=${message.at} title=${texts.format.moment(message.at)}>${texts.format.time(message.at)}</time>`}
                        ${figures(message)}
                    </header>
                    ${message.reasoning && html`<${Part} title=${t("run.message.reasoning")} text=${message.reasoning} />`}
                    ${message.role === "tool"
                        ? html`<${Part} title=${t("run.message.result")} text=${message.text} mono />`
                        : message.text && html`<${Fold} text=${message.text} label=${role} />`}
                    ${message.images > 0 && html`<p class="muted">${t("run.message.images", { count: message.images })}</p>`}
                    ${(message.tool_calls ?? []).map(
                        (call, index) => html`<${Part} key=${index} title=${call.name} text=${pretty(call.arguments)} mono icon="tool" />`,
                    )}
                </article>
            `;
        };
    },
};

/** Something that is folded away until it is asked for; the first line shows what it is. */
const Part = {
    props: { title: { type: String, required: true }, text: { type: String, default: "" }, mono: Boolean, icon: String },
    setup(props) {
        const isOpen = shallowRef(false);
        return () => html`
            <details class="part" onToggle=${(event) => (isOpen.value = event.target.open)}>
                <summary>
                    ${props.icon && html`<${Icon} name=${props.icon} />`}
                    <strong class="part-title">${props.title}</strong>
                    ${!isOpen.value && html`<span class="part-line">${firstLine(props.text)}</span>`}
                </summary>
                ${isOpen.value && html`<${Fold} text=${props.text} label=${props.title} mono=${props.mono} />`}
            </details>
        `;
    },
};

function firstLine(text) {
    return text.slice(0, 300).replace(/\s+/g, " ");
}

/** Arguments are JSON mostly; what is none stays as it came. */
function pretty(text) {
    try {
        return JSON.stringify(JSON.parse(text), null, 2);
    } catch {
        return text;
    }
}
