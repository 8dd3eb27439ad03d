/** Where one can go, and where one is. */

import { html } from "../app/vue.js";
import { useApp } from "../app/services.js";
import { address } from "../app/router.js";
import { Icon } from "./icon.js";

export const Navigation = {
    setup() {
        const { t, router } = useApp();
        const entries = router.routes.filter((route) => route.nav !== undefined);
        return () => {
            const shown = router.current?.route;
            return html`
                <nav class="nav" aria-label=${t("shell.navigation")}>
                    ${entries.map((route) => {
                        const here = route.name === shown?.name || route.name === shown?.under;
                        return html`
                            <a
                                key=${route.name}
                                href=${address([route.path])}
                                class=${["nav-entry", { here }]}
                                aria-current=${here ? "page" : undefined}
                            >
                                <${Icon} name=${route.nav.icon} />
                                <span>${t(route.nav.title)}</span>
                            </a>
                        `;
                    })}
                </nav>
            `;
        };
    },
};

/** The way from the top to the view; views that are entries of the navigation need none. */
export const Crumbs = {
    setup() {
        const { t, router } = useApp();
        return () => {
            const match = router.current;
            const crumbs = match?.route.crumbs?.(match.params) ?? [];
            if (crumbs.length === 0) return null;
            return html`
                <nav class="crumbs" aria-label=${t("shell.crumbs")}>
                    <ol>
                        ${crumbs.map((crumb, index) => {
                            const words = crumb.text ?? t(crumb.key);
                            const last = index === crumbs.length - 1;
                            return html`
                                <li key=${index}>
                                    ${crumb.href && !last
                                        ? html`<a href=${crumb.href}>${words}</a>`
                                        : html`<span aria-current=${last ? "page" : undefined}>${words}</span>`}
                                </li>
                            `;
                        })}
                    </ol>
                </nav>
            `;
        };
    },
};
