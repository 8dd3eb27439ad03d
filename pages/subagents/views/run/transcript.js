/** The transcript of a run: as much of it as is looked at, following its end while the run goes on. */

import { html, nextTick, onMounted, onUnmounted, shallowRef } from "../../app/vue.js";
import { usePages } from "../../app/pages.js";
import { UNDER_WAY } from "../../app/runs.js";
import { useApp } from "../../app/services.js";
import { ActionButton } from "../../components/button.js";
import { Panel } from "../../components/panel.js";
import { Empty, Failure, Loading } from "../../components/states.js";
import { Message } from "./message.js";

/** How near to the end of the page, in pixels, counts as reading along. */
const NEAR = 160;
const SPACING = 700;

export const Transcript = {
    props: { run: { type: Object, required: true } },
    setup(props) {
        const { t, client, texts } = useApp();
        const { session, run_id } = props.run;
        const pages = usePages((offset, limit) => client.get("transcript", { session, run_id, offset, limit }));
        const hasMore = shallowRef(false);
        const follows = () => UNDER_WAY.has(props.run.state);

        async function toEnd() {
            if (!pages.atEnd) await pages.open(true);
            hasMore.value = false;
            await nextTick();
            scrollTo({ top: document.documentElement.scrollHeight });
        }
        async function toStart() {
            if (pages.from > 0) await pages.open(false);
            await nextTick();
            scrollTo({ top: 0 });
        }
        /** Something has happened: show it to who reads along, tell who reads elsewhere. */
        async function grow() {
            const before = pages.total ?? 0;
            const readsAlong = pages.atEnd && isNearEnd();
            await pages.grown();
            if ((pages.total ?? 0) <= before) return;
            if (readsAlong) await toEnd();
            else hasMore.value = true;
        }
        useGrowth(run_id, grow);
        const [top, bottom] = useEdges(
            () => pages.from > 0 && inPlace(pages.earlier),
            () => !pages.atEnd && pages.later(),
        );
        onMounted(() => pages.open(follows()));

        const content = () => {
            if (pages.total === null) {
                return pages.error
                    ? html`<${Failure} error=${pages.error} onRetry=${() => pages.open(follows())} />`
                    : html`<${Loading} lines=${6} />`;
            }
            if (pages.total === 0) {
                return html`<${Empty} icon="clock" title=${t(follows() ? "run.transcript.not_yet" : "run.transcript.none")} />`;
            }
            return html`
                <div class="messages" role="feed" aria-label=${t("run.transcript")} aria-busy=${pages.busy ? "true" : "false"}>
                    <div ref=${top} class="edge"></div>
                    ${pages.items.map(
                        (message, index) => html`<${Message} key=${pages.from + index} message=${message} number=${pages.from + index + 1} />`,
                    )}
                    <div ref=${bottom} class="edge"></div>
                </div>
                ${pages.error && html`<${Failure} error=${pages.error} onRetry=${pages.grown} />`}
            `;
        };
        return () => html`
            <${Panel} title=${t("run.transcript")} count=${pages.total === null ? undefined : texts.format.number(pages.total)} flush>
                ${{
                    actions: () =>
                        pages.total > 20 &&
                        html`
                            <${ActionButton} small onPress=${toStart}>${t("run.transcript.to_start")}<//>
                            <${ActionButton} small onPress=${toEnd}>${t("run.transcript.to_end")}<//>
                        `,
                    default: () => [
                        content(),
                        hasMore.value &&
                            html`<div class="new-below" role="status">
                                <${ActionButton} kind="primary" small icon="down" onPress=${toEnd}>${t("run.transcript.new")}<//>
                            </div>`,
                    ],
                }}
            <//>
        `;
    },
};

/** Let something be put above what is read; browsers keep that in its place, but not at the very top. */
async function inPlace(load) {
    const read = document.querySelector(".message");
    const top = read?.getBoundingClientRect().top;
    await load();
    await nextTick();
    if (read?.isConnected) scrollBy({ top: read.getBoundingClientRect().top - top, behavior: "instant" });
}

function isNearEnd() {
    const { scrollHeight, scrollTop, clientHeight } = document.documentElement;
    return scrollHeight - scrollTop - clientHeight < NEAR;
}

/** Calls `grow` after events of a run, at most once in `SPACING` milliseconds, and when events may be missing. */
function useGrowth(runId, grow) {
    const { live } = useApp();
    let timer = 0;
    const soon = () => {
        if (timer !== 0) return;
        timer = setTimeout(async () => {
            await grow();
            timer = 0;
        }, SPACING);
    };
    const end = live.listen({
        onEvents: (events) => events.some((event) => event.run_id === runId) && soon(),
        onReset: soon,
    });
    onUnmounted(() => {
        end();
        clearTimeout(timer);
    });
}

/** Two places of which coming near to the screen calls back: refs for the elements. */
function useEdges(nearTop, nearBottom) {
    const calls = new Map();
    const observer = new IntersectionObserver(
        (entries) => entries.forEach((entry) => entry.isIntersecting && calls.get(entry.target)?.()),
        { rootMargin: "800px 0px" },
    );
    onUnmounted(() => observer.disconnect());
    const watched = (call) => {
        let seen = null;
        return (element) => {
            if (element === seen) return;
            if (seen !== null) observer.unobserve(seen);
            seen = element;
            if (element === null) return;
            calls.set(element, async () => {
                await call();
                await nextTick();
                // it may be near still: then the observer tells once more
                if (element === seen) {
                    observer.unobserve(element);
                    observer.observe(element);
                }
            });
            observer.observe(element);
        };
    };
    return [watched(nearTop), watched(nearBottom)];
}
