/** One run: what it is, what it said and did, and what can be done about it. */

import { html } from "../app/vue.js";
import { useApp } from "../app/services.js";
import { useResource } from "../app/resource.js";
import { Loaded } from "../components/states.js";
import { RunFacts } from "./run/facts.js";
import { RunHead } from "./run/head.js";
import { RunQuestion } from "./run/question.js";
import { Transcript } from "./run/transcript.js";

export const Run = {
    props: {
        session: { type: String, required: true },
        run: { type: String, required: true },
        query: Object,
    },
    setup(props) {
        const { t, client } = useApp();
        const detail = useResource(() => client.get("run", { session: props.session, run_id: props.run }), {
            key: () => `${props.session}\n${props.run}`,
            on: (event) => event.run_id === props.run,
        });
        const heading = () => html`<h1>${t("run.one", { id: props.run })}</h1>`;
        return () => html`
            ${detail.data === null && heading()}
            <${Loaded} of=${detail} lines=${6}>
                ${(run) => html`
                    <div class="stack">
                        <${RunHead} run=${run} onChanged=${detail.refresh} />
                        ${run.actions.answer && html`<${RunQuestion} run=${run} onChanged=${detail.refresh} />`}
                        <div class="run-columns">
                            <${Transcript} key=${run.run_id} run=${run} />
                            <${RunFacts} run=${run} />
                        </div>
                    </div>
                `}
            <//>
        `;
    },
};
