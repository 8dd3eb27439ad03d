/** What every component may use: `const { t, client, router } = useApp();` in its setup. */

import { inject } from "./vue.js";

const KEY = Symbol("services");

/** Give the services to an app's components. */
export function provideServices(app, services) {
    app.provide(KEY, services);
}

/** @returns {Services} */
export function useApp() {
    return inject(KEY);
}
