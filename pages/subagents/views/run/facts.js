/** What is known of a run beside its words: figures, tools, files, where it came from. */

import { html } from "../../app/vue.js";
import { address } from "../../app/router.js";
import { useApp } from "../../app/services.js";
import { Panel } from "../../components/panel.js";
import { Fold } from "./fold.js";

export const RunFacts = {
    props: { run: { type: Object, required: true } },
    setup(props) {
        const { t } = useApp();
        return () => {
            const { run } = props;
            return html`
                <div class="stack">
                    <${Panel} title=${t("run.task")}><${Fold} text=${run.input} label=${t("run.task")} /><//>
                    <${Panel} title=${t("run.facts")}><${Facts} run=${run} /><//>
                    ${run.tools_used.length > 0 && html`<${Tools} run=${run} />`}
                    ${run.artifacts.length > 0 && html`<${Files} files=${run.artifacts} />`}
                </div>
            `;
        };
    },
};

const Facts = {
    props: { run: { type: Object, required: true } },
    setup(props) {
        const { t, texts } = useApp();
        const link = (session, id) => html`<a key=${id} class="mono" href=${address(["session", session, "run", id])}>${id}</a>`;

        function rows(run) {
            const { format } = texts;
            const tokens = run.usage;
            const links = (ids) => ids.map((id) => link(run.session, id));
            return [
                ["run.facts.owner", run.owner_name || run.owner],
                ["run.facts.model", run.model],
                ["run.facts.steps", `${format.number(run.steps)} / ${format.number(run.max_steps)}`],
                ["run.facts.tokens", format.number(tokens.total)],
                [
                    "run.facts.tokens_of",
                    t("run.facts.tokens_parts", {
                        input: format.number(tokens.input),
                        cached: format.number(tokens.cached),
                        output: format.number(tokens.output),
                    }),
                ],
                ["run.facts.tools_given", format.number(run.tools_given)],
                ["run.facts.filter", run.filter],
                ["run.facts.type", run.agent_type],
                ["run.facts.created", format.moment(run.created_at)],
                ["run.facts.started", run.started_at && format.moment(run.started_at)],
                ["run.facts.finished", run.finished_at && format.moment(run.finished_at)],
                ["run.facts.depends_on", run.depends_on.length > 0 && links(run.depends_on)],
                ["run.facts.repeats", run.parent && link(run.session, run.parent)],
                [
                    "run.facts.group",
                    run.group_id &&
                        html`<a class="mono" href=${address(["runs"], { session: run.session, group: run.group_id })}>${run.group_id}</a>`,
                ],
                ["run.facts.adapter", run.origin.adapter],
                ["run.facts.persona", run.origin.persona_id],
                ["run.facts.executor", run.executor],
                ["run.facts.id", html`<span class="mono">${run.run_id}</span>`],
            ];
        }
        return () => html`
            <dl class="facts">
                ${rows(props.run)
                    .filter(([, value]) => value)
                    .map(([key, value]) => [html`<dt>${t(key)}</dt>`, html`<dd>${value}</dd>`])}
            </dl>
        `;
    },
};

const Tools = {
    props: { run: { type: Object, required: true } },
    setup(props) {
        const { t, texts } = useApp();
        return () => html`
            <${Panel} title=${t("run.tools")} count=${props.run.tools_used.length} flush>
                <div class="table-scroll">
                    <table class="table">
                        <thead>
                            <tr>
                                <th scope="col">${t("run.tools.name")}</th>
                                <th scope="col" class="number">${t("run.tools.calls")}</th>
                                <th scope="col" class="number">${t("run.tools.errors")}</th>
                            </tr>
                        </thead>
                        <tbody>
                            ${props.run.tools_used.map(
                                (use) => html`
                                    <tr key=${use.name}>
                                        <td class="mono break">${use.name}</td>
                                        <td class="number">${texts.format.number(use.calls)}</td>
                                        <td class=${["number", { bad: use.errors > 0 }]}>${texts.format.number(use.errors)}</td>
                                    </tr>
                                `,
                            )}
                        </tbody>
                    </table>
                </div>
            <//>
        `;
    },
};

const Files = {
    props: { files: { type: Array, required: true } },
    setup(props) {
        const { t } = useApp();
        return () => html`
            <${Panel} title=${t("run.files")} count=${props.files.length} flush>
                <ul class="list">
                    ${props.files.map(
                        (file, index) => html`
                            <li key=${index} class="file">
                                <strong class="break">${file.name || file.kind}</strong>
                                <span class="mono break muted">${file.path || t("run.files.gone")}</span>
                            </li>
                        `,
                    )}
                </ul>
            <//>
        `;
    },
};
