/** Who used how much: a table with a bar for each row's share of the largest. */

import { html } from "../../app/vue.js";
import { useApp } from "../../app/services.js";
import { Panel } from "../../components/panel.js";

export const Shares = {
    props: {
        title: { type: String, required: true },
        /** `[{name, href?, runs, usage: {total}}]`, the largest first. */
        rows: { type: Array, required: true },
    },
    setup(props) {
        const { t, texts } = useApp();
        return () => {
            const most = Math.max(1, ...props.rows.map((row) => row.usage.total));
            return html`
                <${Panel} title=${props.title} count=${props.rows.length} flush>
                    <div class="table-scroll">
                        <table class="table">
                            <thead>
                                <tr>
                                    <th scope="col">${t("usage.name")}</th>
                                    <th scope="col" class="number">${t("usage.runs")}</th>
                                    <th scope="col" class="number">${t("usage.tokens")}</th>
                                </tr>
                            </thead>
                            <tbody>
                                ${props.rows.map(
                                    (row, index) => html`
                                        <tr key=${index}>
                                            <td class="share">
                                                <span class="share-name break" dir="auto">
                                                    ${row.href ? html`<a href=${row.href}>${row.name}</a>` : row.name}
                                                </span>
                                                <span class="share-bar" aria-hidden="true" style=${{ width: `${(100 * row.usage.total) / most}%` }}></span>
                                            </td>
                                            <td class="number">${texts.format.number(row.runs)}</td>
                                            <td class="number" title=${texts.format.number(row.usage.total)}>${texts.format.short(row.usage.total)}</td>
                                        </tr>
                                    `,
                                )}
                            </tbody>
                        </table>
                    </div>
                <//>
            `;
        };
    },
};
