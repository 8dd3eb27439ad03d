/** Signing in on the plugin's own server with the token of its settings. */

import { html, nextTick, onMounted, ref, useId } from "../app/vue.js";
import { useApp } from "../app/services.js";
import { ActionButton } from "../components/button.js";
import { Looks } from "../components/preferences.js";

export const Login = {
    setup() {
        const { t, client, account, notices } = useApp();
        const token = ref("");
        const problem = ref("");
        const busy = ref(false);
        const field = ref(null);
        const id = useId();
        onMounted(() => field.value.focus());

        async function signIn(event) {
            event.preventDefault();
            if (busy.value) return;
            busy.value = true;
            problem.value = "";
            try {
                await client.post("login", { token: token.value.trim() });
                token.value = "";
                account.signedIn = true;
            } catch (error) {
                problem.value = notices.errorText(error);
                await nextTick();
                field.value.select();
            } finally {
                busy.value = false;
            }
        }
        return () => html`
            <div class="login panel">
                <span class="brand-mark large" aria-hidden="true"></span>
                <h1>${t("app.title")}</h1>
                <p class="muted">${t("login.text")}</p>
                <form onSubmit=${signIn}>
                    <label for=${id}>${t("login.token")}</label>
                    <input
                        id=${id}
                        ref=${field}
                        type="password"
                        autocomplete="current-password"
                        required
                        value=${token.value}
                        aria-invalid=${problem.value ? "true" : undefined}
                        aria-describedby=${problem.value ? `${id}-problem` : undefined}
                        onInput=${(event) => (token.value = event.target.value)}
                    />
                    ${problem.value && html`<p id=${`${id}-problem`} class="problem" role="alert">${problem.value}</p>`}
                    <${ActionButton} kind="primary" type="submit" busy=${busy.value}>${t("login.action")}<//>
                </form>
                <div class="login-looks"><${Looks} /></div>
            </div>
        `;
    },
};
