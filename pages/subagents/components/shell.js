/** What is around every view: the bar at the top, where we are, the state of the line, the view itself. */

import { html, onMounted, onUnmounted, shallowRef, watch } from "../app/vue.js";
import { useApp } from "../app/services.js";
import { Crumbs, Navigation } from "./navigation.js";
import { Line } from "./line.js";
import { Preferences } from "./preferences.js";
import { Question, Toasts } from "./notices.js";
import { Empty, Failure, Loading } from "./states.js";
import { Login } from "../views/login.js";
import { unreachable } from "../app/errors.js";

export const Shell = {
    setup() {
        const { t, account, client, live } = useApp();
        const failure = shallowRef(null);

        async function lookUp() {
            failure.value = null;
            try {
                account.signedIn = (await client.get("account")).signed_in;
            } catch (error) {
                failure.value = error;
            }
        }
        onMounted(() => account.signedIn === null && lookUp());
        watch(
            () => account.signedIn,
            (signedIn) => (signedIn ? live.start() : live.stop()),
            { immediate: true },
        );
        onUnmounted(() => live.stop());

        return () => html`
            <div class="shell">
                <a class="skip" href="#main" onClick=${toMain}>${t("shell.skip")}</a>
                ${account.signedIn ? html`<${Frame} />` : html`<${Door} failure=${failure.value} onRetry=${lookUp} />`}
                <${Toasts} />
                <${Question} />
            </div>
        `;
    },
};

/** The address after `#` is a place of ours, so the skip link moves the focus by itself. */
function toMain(event) {
    event.preventDefault();
    document.getElementById("main").focus();
}

const Door = {
    props: { failure: Object },
    emits: ["retry"],
    setup(props, { emit }) {
        const { account } = useApp();
        return () => html`
            <main id="main" class="door" tabindex="-1">
                ${account.signedIn === false
                    ? html`<${Login} />`
                    : props.failure
                      ? html`<${Failure} error=${props.failure} onRetry=${() => emit("retry")} />`
                      : html`<${Loading} />`}
            </main>
        `;
    },
};

const Frame = {
    setup() {
        const { t, router } = useApp();
        return () => html`
            <header class="bar">
                <a class="brand" href="#/">
                    <span class="brand-mark" aria-hidden="true"></span>
                    <span class="brand-name">${t("app.title")}</span>
                </a>
                <${Navigation} />
                <div class="bar-end">
                    <${Line} />
                    <${Preferences} />
                </div>
            </header>
            <main id="main" class="main" tabindex="-1">
                <${Crumbs} />
                ${router.current
                    ? html`<${View} key=${router.current.route.name} match=${router.current} />`
                    : html`<${Empty} icon="question" title=${t("shell.no_such_view")} text=${t("shell.no_such_view.text")}>
                          <a class="button" href="#/">${t("shell.to_overview")}</a>
                      <//>`}
            </main>
        `;
    },
};

/** Views are loaded when they are first shown. */
const View = {
    props: { match: { type: Object, required: true } },
    setup(props) {
        const view = shallowRef(null);
        const failure = shallowRef(null);
        async function load() {
            failure.value = null;
            try {
                view.value = await props.match.route.load();
            } catch (error) {
                console.error(error);
                failure.value = unreachable(error);
            }
        }
        load();
        return () => {
            if (failure.value) return html`<${Failure} error=${failure.value} onRetry=${load} />`;
            if (view.value === null) return html`<${Loading} lines=${5} />`;
            return html`<${view.value} ...${props.match.params} query=${props.match.query} />`;
        };
    },
};
