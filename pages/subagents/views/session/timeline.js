/** When which task waited, worked and ended: the Gantt chart of a chat, its time span and scale. */

import { html, ref } from "../../app/vue.js";
import { useApp } from "../../app/services.js";
import { useResource } from "../../app/resource.js";
import { IconButton } from "../../components/button.js";
import { Segments } from "../../components/fields.js";
import { Panel } from "../../components/panel.js";
import { Empty, Loaded } from "../../components/states.js";
import { Gantt } from "./gantt.js";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
/** How far back; 0: the newest ones, however old they are. */
const SPANS = [15 * MINUTE, HOUR, 6 * HOUR, 24 * HOUR, 0];
const ZOOMS = [1, 1.5, 2, 3, 4, 6, 8, 12, 16];
const CHANGES = new Set(["run.changed", "task.start", "task.end"]);

export const Timeline = {
    props: { session: { type: String, required: true } },
    setup(props) {
        const { t, texts, client } = useApp();
        const span = ref(SPANS[0]);
        const zoom = ref(0);
        let isChosen = false;
        const read = () => {
            const since = span.value === 0 ? undefined : new Date(Date.now() - span.value).toISOString();
            return client.get("timeline", { session: props.session, since });
        };
        /** Until somebody chooses, the shortest span in which there is something. */
        async function load() {
            let found = await read();
            while (!isChosen && found.items.length === 0 && span.value !== 0) {
                span.value = SPANS[SPANS.indexOf(span.value) + 1];
                found = await read();
            }
            isChosen = true;
            return found;
        }
        const timeline = useResource(load, {
            on: (event) => event.session === props.session && CHANGES.has(event.kind),
        });
        function choose(value) {
            isChosen = true;
            span.value = value;
            timeline.refresh();
        }
        const words = (each) => (each === 0 ? t("timeline.newest") : texts.format.duration(each));
        const step = (by) => (zoom.value = Math.max(0, Math.min(ZOOMS.length - 1, zoom.value + by)));

        const tools = () => html`
            <${Segments}
                label=${t("timeline.span")}
                value=${span.value}
                choices=${SPANS.map((value) => ({ value, label: words(value) }))}
                onChange=${choose}
            />
            <div class="row gantt-zoom">
                <${IconButton} icon="minus" label=${t("timeline.narrower")} disabled=${zoom.value === 0} onPress=${() => step(-1)} />
                <${IconButton}
                    icon="plus"
                    label=${t("timeline.wider")}
                    disabled=${zoom.value === ZOOMS.length - 1}
                    onPress=${() => step(1)}
                />
            </div>
        `;
        return () => html`
            <${Panel} title=${t("session.timeline")} count=${timeline.data?.items.length} flush>
                ${{
                    actions: tools,
                    default: () => html`
                        <${Loaded} of=${timeline} lines=${6}>
                            ${(data) =>
                                data.items.length === 0
                                    ? html`<${Empty} icon="timeline" title=${t("timeline.none")} text=${t("timeline.none.text")} />`
                                    : html`<${Gantt}
                                          items=${data.items}
                                          now=${data.now}
                                          session=${props.session}
                                          zoom=${ZOOMS[zoom.value]}
                                          onZoom=${step}
                                      />`}
                        <//>
                        <${Legend} />
                    `,
                }}
            <//>
        `;
    },
};

const Legend = {
    setup() {
        const { t } = useApp();
        const entries = ["line", "work", "ask", "done", "failed", "needs"];
        return () => html`
            <ul class="gantt-legend">
                ${entries.map(
                    (entry) => html`<li key=${entry}><span class=${["gantt-sample", entry]}></span>${t(`timeline.legend.${entry}`)}</li>`,
                )}
            </ul>
        `;
    },
};
