/** The chat's own switches for memory and notes, and how much of its limits is used. */

import { html, ref } from "../../app/vue.js";
import { useApp } from "../../app/services.js";
import { useAction } from "../../app/actions.js";
import { Segments } from "../../components/fields.js";
import { Icon } from "../../components/icon.js";

export const Switches = {
    props: { session: { type: String, required: true }, found: { type: Object, required: true } },
    emits: ["change"],
    setup(props, { emit }) {
        const { t, client } = useApp();
        const saving = useAction();
        /** Only where there is little room; else they are always to be seen. */
        const isOpen = ref(false);

        const save = (key, value) =>
            saving.run(
                async () => emit("change", await client.post("switches", { session: props.session, [key]: value })),
                t("session.switch.saved"),
            );
        const choices = ({ on, own }) => [
            { value: null, label: own === null ? t(on ? "session.switch.default_on" : "session.switch.default_off") : t("session.switch.default") },
            { value: true, label: t("session.switch.on") },
            { value: false, label: t("session.switch.off") },
        ];
        const line = (key) => html`
            <div class="switches-item">
                <div>
                    <p class="switches-title">${t(`session.switch.${key}`)}</p>
                    <p class="hint">${t(`session.switch.${key}.hint`)}</p>
                </div>
                <${Segments}
                    label=${t(`session.switch.${key}`)}
                    value=${props.found[key].own}
                    choices=${choices(props.found[key])}
                    disabled=${saving.busy}
                    onChange=${(value) => save(key, value)}
                />
            </div>
        `;
        const room = (key, free, most) => html`
            <div class="switches-room">
                <p class="figure-title">${t(`session.room.${key}`)}</p>
                <p><strong class="took">${free}</strong> <span class="muted">${t("session.room.of", { count: most })}</span></p>
            </div>
        `;
        return () => {
            const { limits } = props.found;
            return html`
                <button
                    type="button"
                    class="button small switches-toggle"
                    aria-expanded=${isOpen.value ? "true" : "false"}
                    onClick=${() => (isOpen.value = !isOpen.value)}
                >
                    <${Icon} name="settings" /><span>${t("session.switches")}</span>
                </button>
                <section class=${["panel switches", { open: isOpen.value }]} aria-label=${t("session.switches")}>
                    ${line("memory")} ${line("board")}
                    <div class="switches-rooms">
                        ${room("agents", limits.free_agents, limits.max_dynamic_subagent_count)}
                        ${room("places", limits.free_places, limits.max_parallel_per_session)}
                    </div>
                </section>
            `;
        };
    },
};
