/** Writes a note on the board of a chat. */

import { html, reactive } from "../../app/vue.js";
import { useApp } from "../../app/services.js";
import { useAction } from "../../app/actions.js";
import { ActionButton } from "../../components/button.js";
import { ChoiceField, LongTextField } from "../../components/fields.js";

const EVERYBODY = "all";
const KINDS = ["message", "system"];

export const BoardForm = {
    props: { session: { type: String, required: true }, agents: { type: Array, required: true } },
    emits: ["posted"],
    setup(props, { emit }) {
        const { t, client } = useApp();
        const sending = useAction();
        const draft = reactive({ kind: "message", target: EVERYBODY, content: "" });

        async function send(event) {
            event?.preventDefault();
            if (draft.content.trim() === "") return;
            const note = { session: props.session, ...draft, content: draft.content.trim() };
            if (!(await sending.run(() => client.post("board/post", note), t("board.write.done")))) return;
            draft.content = "";
            emit("posted");
        }
        const onKeydown = (event) => {
            if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) send(event);
        };
        const targets = () => [
            { value: EVERYBODY, label: t("board.everybody") },
            ...props.agents.map(({ name }) => ({ value: name, label: name })),
        ];
        return () => html`
            <form class="form" onSubmit=${send} onKeydown=${onKeydown}>
                <${LongTextField}
                    label=${t("board.write.text")}
                    hint=${t("board.write.hint")}
                    rows=${5}
                    value=${draft.content}
                    onChange=${(text) => (draft.content = text)}
                />
                <${ChoiceField}
                    label=${t("board.write.to")}
                    value=${draft.target}
                    choices=${targets()}
                    onChange=${(target) => (draft.target = target)}
                />
                <${ChoiceField}
                    label=${t("board.write.kind")}
                    hint=${t(`board.kind.${draft.kind}.hint`)}
                    value=${draft.kind}
                    choices=${KINDS.map((kind) => ({ value: kind, label: t(`board.kind.${kind}`) }))}
                    onChange=${(kind) => (draft.kind = kind)}
                />
                <${ActionButton}
                    kind="primary"
                    icon="send"
                    type="submit"
                    busy=${sending.busy}
                    disabled=${draft.content.trim() === ""}
                >
                    ${t("board.write.action")}
                <//>
            </form>
        `;
    },
};
