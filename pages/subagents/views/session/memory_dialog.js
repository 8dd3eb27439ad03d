/** What a sub-agent remembers of its earlier tasks: the messages that stand before its next one. */

import { html, shallowRef } from "../../app/vue.js";
import { useApp } from "../../app/services.js";
import { useAction } from "../../app/actions.js";
import { ActionButton } from "../../components/button.js";
import { Dialog } from "../../components/dialog.js";
import { Empty, Failure, Loading } from "../../components/states.js";
import { Message } from "../run/message.js";

const PAGE = 50;

export const MemoryDialog = {
    props: { session: { type: String, required: true }, agent: { type: Object, required: true } },
    emits: ["close"],
    setup(props, { emit }) {
        const { t, client } = useApp();
        const found = shallowRef(null);
        const error = shallowRef(null);
        const reading = useAction();

        const page = (offset) =>
            client.get("memory", { session: props.session, agent: props.agent.name, offset, limit: PAGE });
        async function begin() {
            error.value = null;
            try {
                found.value = await page(0);
            } catch (problem) {
                error.value = problem;
            }
        }
        const more = () =>
            reading.run(async () => {
                const next = await page(found.value.items.length);
                found.value = { total: next.total, items: [...found.value.items, ...next.items] };
            });
        begin();

        function content() {
            if (error.value) return html`<${Failure} error=${error.value} onRetry=${begin} />`;
            if (found.value === null) return html`<${Loading} lines=${6} />`;
            const { items, total } = found.value;
            if (total === 0) return html`<${Empty} icon="board" title=${t("agent.memory.none")} />`;
            return html`
                <div class="stack">
                    ${items.map((message, index) => html`<${Message} key=${message.index} message=${message} number=${index + 1} />`)}
                    ${items.length < total &&
                    html`<${ActionButton} busy=${reading.busy} onPress=${more}>
                        ${t("agent.memory.more", { count: total - items.length })}
                    <//>`}
                </div>
            `;
        }
        return () => html`
            <${Dialog} title=${t("agent.memory.title", { name: props.agent.name })} wide onClose=${() => emit("close")}>
                ${content()}
            <//>
        `;
    },
};
