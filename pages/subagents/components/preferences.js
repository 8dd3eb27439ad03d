/** Language, theme and signing out. In AstrBot's WebUI all three are the WebUI's affair. */

import { html } from "../app/vue.js";
import { useApp } from "../app/services.js";
import { LANGUAGES } from "../app/texts.js";
import { useAction } from "../app/actions.js";
import { IconButton } from "./button.js";

const THEMES = ["system", "light", "dark"];
const ICONS = { system: "system", light: "sun", dark: "moon" };

/** What can be chosen without having signed in. */
export const Looks = {
    setup() {
        const { t, theme, texts } = useApp();
        const next = () => theme.choose(THEMES[(THEMES.indexOf(theme.choice) + 1) % THEMES.length]);
        return () => html`
            <select
                class="quiet-select"
                aria-label=${t("shell.language")}
                value=${texts.locale}
                onChange=${(event) => texts.choose(event.target.value)}
            >
                ${Object.entries(LANGUAGES).map(
                    ([locale, name]) => html`<option key=${locale} value=${locale} lang=${locale}>${name}</option>`,
                )}
            </select>
            <${IconButton}
                icon=${ICONS[theme.choice] ?? "system"}
                label=${t("shell.theme", { theme: t(`theme.${theme.choice}`) })}
                onPress=${next}
            />
        `;
    },
};

export const Preferences = {
    setup() {
        const { t, host, client, account } = useApp();
        const leaving = useAction();
        const leave = () =>
            leaving.run(async () => {
                await client.post("logout");
                account.signedIn = false;
            });
        return () =>
            host.framed
                ? null
                : html`
                      <${Looks} />
                      <${IconButton} icon="leave" label=${t("shell.sign_out")} onPress=${leave} />
                  `;
    },
};
