/** Tells above an entry's fields what is wrong with it that no field shows, and that saving leaves it out. */

import { html } from "../../app/vue.js";
import { useApp } from "../../app/services.js";

export const Dropped = {
    props: { problems: { type: Array, required: true } },
    setup(props) {
        const { t } = useApp();
        return () =>
            props.problems.length > 0 &&
            html`<div class="banner warn" role="status">
                <span class="break">${[...props.problems, t("entries.dropped")].join(" ")}</span>
            </div>`;
    },
};
