/**
 * Tabs; arrow keys move among them. `tabs`: `[{key, label, icon?, count?}]`; the content of the chosen one is the slot.
 */

import { html, onMounted, ref, useId } from "../app/vue.js";
import { Icon } from "./icon.js";

export const Tabs = {
    props: { label: { type: String, required: true }, tabs: { type: Array, required: true }, chosen: { type: String, required: true } },
    emits: ["choose"],
    setup(props, { slots, emit }) {
        const id = useId();

        function pressed(event) {
            const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
            const at = props.tabs.findIndex((each) => each.key === props.chosen);
            const ends = { Home: 0, End: props.tabs.length - 1 };
            const next = step === undefined ? ends[event.key] : (at + step + props.tabs.length) % props.tabs.length;
            if (next === undefined) return;
            event.preventDefault();
            emit("choose", props.tabs[next].key);
            event.currentTarget.children[next].focus();
        }

        // Where there is little room they scroll sideways.
        const list = ref(null);
        onMounted(() => {
            const chosen = list.value.querySelector("[aria-selected='true']");
            if (chosen) list.value.scrollLeft = chosen.offsetLeft - list.value.clientWidth / 3;
        });

        return () => html`
            <div>
                <div class="tabs" ref=${list} role="tablist" aria-label=${props.label} onKeydown=${pressed}>
                    ${props.tabs.map((tab) => {
                        const chosen = tab.key === props.chosen;
                        return html`
                            <button
                                key=${tab.key}
                                type="button"
                                role="tab"
                                class="tab"
                                id=${`${id}-${tab.key}`}
                                aria-selected=${chosen ? "true" : "false"}
                                aria-controls=${chosen ? `${id}-content` : undefined}
                                tabindex=${chosen ? 0 : -1}
                                onClick=${() => emit("choose", tab.key)}
                            >
                                ${tab.icon && html`<${Icon} name=${tab.icon} />`}
                                <span>${tab.label}</span>
                                ${tab.count !== undefined && html`<span class="count">${tab.count}</span>`}
                            </button>
                        `;
                    })}
                </div>
                <div role="tabpanel" id=${`${id}-content`} aria-labelledby=${`${id}-${props.chosen}`}>
                    ${slots.default?.()}
                </div>
            </div>
        `;
    },
};
