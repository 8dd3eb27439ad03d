/** Whether what is shown is live: a dot while all is well, words and a button while it is not. */

import { html } from "../app/vue.js";
import { useApp } from "../app/services.js";

export const Line = {
    setup() {
        const { t, live, clock } = useApp();
        const now = clock.use();
        return () => {
            const { status, retryAt } = live.state;
            const seconds = retryAt === null ? 0 : Math.max(0, Math.ceil((retryAt - now.value) / 1000));
            return html`
                <div class=${["line", status]}>
                    <span role="status" class="line-words">
                        <span class="dot" aria-hidden="true"></span>
                        <span class="line-text">${t(`line.${status}`)}</span>
                    </span>
                    ${retryAt !== null &&
                    html`<button
                        type="button"
                        class="link"
                        title=${t("line.retry_in", { count: seconds })}
                        onClick=${live.retry}
                    >
                        ${t("line.retry")}
                    </button>`}
                </div>
            `;
        };
    },
};
