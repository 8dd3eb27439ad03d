/** The door of the page: builds the services once, then shows the shell. */

import { bridgeClient } from "./client_bridge.js";
import { createClock } from "./clock.js";
import { findHost } from "./host.js";
import { httpClient } from "./client_http.js";
import { Live } from "./live.js";
import { createMemory } from "./memory.js";
import { createNotices } from "./notices.js";
import { createRouter } from "./router.js";
import { provideServices } from "./services.js";
import { createTexts } from "./texts.js";
import { createTheme } from "./theme.js";
import { createApp, reactive } from "./vue.js";
import { Shell } from "../components/shell.js";
import { ROUTES } from "../views/routes.js";

async function start() {
    const host = findHost();
    const memory = createMemory();
    const theme = createTheme(host, memory);
    const router = createRouter(ROUTES);
    // The first view is on its way while the words are; when that fails, showing it says so.
    router.current?.route.load().catch(() => {});
    const texts = await createTexts(host, memory);
    /** Nobody has to sign in inside of AstrBot: the WebUI did that. `null`: not known yet. */
    const account = reactive({ signedIn: host.framed ? true : null });
    const client = host.framed
        ? bridgeClient(host.bridge)
        : httpClient(() => {
              account.signedIn = false;
          });
    const services = {
        host,
        memory,
        theme,
        texts,
        t: texts.t,
        account,
        client,
        live: new Live(client),
        router,
        notices: createNotices(texts),
        clock: createClock(),
    };
    const app = createApp(Shell);
    provideServices(app, services);
    app.config.errorHandler = (error) => {
        console.error(error);
        services.notices.failed(texts.t("error.page"));
    };
    app.mount("#app");
}

start();
