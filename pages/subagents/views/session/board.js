/** The notes that the sub-agents of a chat share, and a way to write one. */

import { html, ref, shallowRef } from "../../app/vue.js";
import { useApp } from "../../app/services.js";
import { useAction } from "../../app/actions.js";
import { useResource } from "../../app/resource.js";
import { Tag } from "../../components/badges.js";
import { ActionButton } from "../../components/button.js";
import { Dialog } from "../../components/dialog.js";
import { ChoiceField } from "../../components/fields.js";
import { Icon } from "../../components/icon.js";
import { Panel } from "../../components/panel.js";
import { Empty, Loaded } from "../../components/states.js";
import { Ago } from "../../components/times.js";
import { VirtualList } from "../../components/virtual_list.js";
import { BoardForm } from "./board_form.js";

/** "all" reaches everybody. */
const EVERYBODY = "all";

export const Board = {
    props: {
        session: { type: String, required: true },
        agents: { type: Array, required: true },
        on: Boolean,
    },
    setup(props) {
        const { t, client } = useApp();
        const board = useResource(() => client.get("board", { session: props.session }), {
            on: (event) => event.session === props.session && event.kind === "board.changed",
            spacing: 3_000,
        });
        const clearing = ref(false);
        const list = (notes) =>
            notes.length === 0
                ? html`<${Empty} icon="board" title=${t("board.none")} text=${t("board.none.text")} />`
                : html`<${VirtualList}
                      class="board-notes"
                      count=${notes.length}
                      keyOf=${(index) => notes[index].seq}
                      estimate=${84}
                      label=${t("session.board")}
                      toEnd
                  >
                      ${(index) => html`<${Note} note=${notes[index]} />`}
                  <//>`;
        return () => html`
            <div class="board">
                <${Panel} title=${t("session.board")} flush>
                    ${{
                        actions: () =>
                            board.data?.items.length > 0 &&
                            html`<${ActionButton} small icon="trash" onPress=${() => (clearing.value = true)}>
                                ${t("board.clear")}
                            <//>`,
                        default: () => html`
                            ${!props.on && html`<div class="banner warn board-off"><span>${t("board.off")}</span></div>`}
                            <${Loaded} of=${board} lines=${5}>${(data) => list(data.items)}<//>
                        `,
                    }}
                <//>
                <${Panel} title=${t("board.write")}>
                    <${BoardForm} session=${props.session} agents=${props.agents} onPosted=${board.refresh} />
                <//>
                ${clearing.value &&
                html`<${ClearDialog}
                    session=${props.session}
                    notes=${board.data.items}
                    onClose=${() => (clearing.value = false)}
                    onCleared=${() => {
                        clearing.value = false;
                        board.refresh();
                    }}
                />`}
            </div>
        `;
    },
};

const Note = {
    props: { note: { type: Object, required: true } },
    setup(props) {
        const { t } = useApp();
        return () => {
            const { note } = props;
            return html`
                <article class=${["note", { instruction: note.kind === "system" }]}>
                    <header class="row">
                        <strong class="clip">${note.sender}</strong>
                        ${note.target !== EVERYBODY && html`<span class="note-target muted"><${Icon} name="forward" /><span class="clip">${note.target}</span></span>`}
                        <${Tag} tone=${note.kind === "system" ? "accent" : ""}>${t(`board.kind.${note.kind}`)}<//>
                        <span class="muted small note-at"><${Ago} at=${note.at} /></span>
                    </header>
                    <p class="note-text">${note.content}</p>
                </article>
            `;
        };
    },
};

/** Whose notes are to go. */
const ClearDialog = {
    props: { session: { type: String, required: true }, notes: { type: Array, required: true } },
    emits: ["close", "cleared"],
    setup(props, { emit }) {
        const { t, client, notices } = useApp();
        const sender = shallowRef("");
        const clearing = useAction();
        const senders = [...new Set(props.notes.map((note) => note.sender))].sort();
        const choices = () => [
            { value: "", label: t("board.clear.everybody") },
            ...senders.map((name) => ({ value: name, label: name })),
        ];
        async function clear() {
            const chosen = sender.value === "" ? {} : { sender: sender.value };
            const done = await clearing.run(async () => {
                const { removed } = await client.post("board/clear", { session: props.session, ...chosen });
                notices.done(t("board.clear.done", { count: removed }));
            });
            if (done) emit("cleared");
        }
        return () => html`
            <${Dialog} title=${t("board.clear.title")} alert onClose=${() => emit("close")}>
                ${{
                    default: () => html`
                        <div class="form">
                            <p>${t("board.clear.text")}</p>
                            <${ChoiceField}
                                label=${t("board.clear.whose")}
                                value=${sender.value}
                                choices=${choices()}
                                onChange=${(value) => (sender.value = value)}
                            />
                        </div>
                    `,
                    actions: () => html`
                        <${ActionButton} onPress=${() => emit("close")}>${t("action.cancel")}<//>
                        <${ActionButton} kind="danger" busy=${clearing.busy} onPress=${clear}>${t("board.clear")}<//>
                    `,
                }}
            <//>
        `;
    },
};
