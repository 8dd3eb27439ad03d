"""Which rows of a conversation reach a child's model, whatever a host has recorded in them."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_subagents.manager import Run, RunId, SessionId, Settings
from astrbot_plugin_subagents.manager.memory import Memory, load_memory
from astrbot_plugin_subagents.manager.models import (
    ConversationId,
    MessageBody,
    OwnerId,
    StoredMessage,
)
from astrbot_plugin_subagents.manager.store import MemoryStore, RunWrite
from astrbot_plugin_subagents.manager.testing import EPOCH

ROLES = {"s": "system", "d": "developer", "u": "user", "a": "assistant", "t": "tool"}
LETTERS = {role: letter for letter, role in ROLES.items()}


def a_run(number: int) -> Run:
    return Run(
        run_id=RunId(f"r{number}"),
        session=SessionId("chat"),
        agent=None,
        conversation=ConversationId("c"),
        input="x",
        owner=OwnerId("alice"),
        created_at=EPOCH,
    )


async def loaded(
    runs: Sequence[str | list[MessageBody]], settings: Settings, *, own: int | None = None
) -> Memory:
    """The memory of a new run, or of one that is taken up again, behind these runs.

    A run is given as its messages, or as their roles: `uatata`.
    """
    store, seq = MemoryStore(), 0
    await store.open()
    for number, messages in enumerate(runs):
        run, rows = a_run(number), []
        await store.add_runs([run])
        for message in messages:
            seq += 1
            body = (
                message
                if not isinstance(message, str)
                else {
                    "role": ROLES[message],
                    "content": f"{seq}",
                }
            )
            rows.append(
                StoredMessage(
                    conversation=run.conversation, seq=seq, run_id=run.run_id, body=body, at=EPOCH
                )
            )
        await store.write_run(RunWrite(run=run, messages=rows))
    current = a_run(len(runs) if own is None else own)
    return await load_memory(store, current, settings, enabled=True)


def letters(bodies: Sequence[MessageBody]) -> str:
    return "".join(LETTERS[body["role"]] for body in bodies)


def limited(messages: int) -> Settings:
    return Settings(subagent_history_maxlen=messages)


@pytest.mark.parametrize(
    ("runs", "limit", "kept"),
    [
        (["sua", "uda"], 4, "uaua"),
        (["sua", "uda"], 3, "ua"),
        (["uatata", "suata"], 4, "uata"),
        # what is left out does not count, and does not hide where a run begins
        (["uata", "uatsatsa"], 4, "uata"),
        (["ua", "ssssssss", "ua"], 4, "uaua"),
        (["ssss"], 4, ""),
    ],
)
async def test_system_messages_are_left_out_and_do_not_count(
    runs: list[str], limit: int, kept: str
) -> None:
    memory = await loaded(runs, limited(limit))

    assert letters(memory.history) == kept


RUN = st.lists(st.sampled_from(["a", "at", "att", "s", "d"]), max_size=6).map(
    lambda steps: "u" + "".join(steps)
)


@given(runs=st.lists(RUN, max_size=5), limit=st.integers(1, 12))
async def test_a_history_never_begins_with_a_result_and_parts_no_call_from_it(
    runs: list[str], limit: int
) -> None:
    memory = await loaded(runs, limited(limit))

    kept = letters(memory.history)
    plain = "".join(runs).replace("s", "").replace("d", "")
    assert len(kept) <= limit
    assert kept[:1] in ("", "u")
    assert plain.endswith((kept, kept[1:]))
    assert kept[1:2] in ("", "u", "a")
    assert len(plain) > limit or kept == plain


@pytest.mark.parametrize("limit", [0, 1, 2, 300])
async def test_a_run_that_is_taken_up_again_gets_all_it_had_done_whatever_the_limit(
    limit: int,
) -> None:
    memory = await loaded(["ua", "u" + "at" * 20], limited(limit), own=1)

    assert letters(memory.resume) == "u" + "at" * 20
    assert letters(memory.history) == ("ua" if limit >= 2 else "")


@pytest.mark.parametrize(
    ("content", "limit", "kept"),
    [
        ("0123456789", 4, "0123\n[6 characters left out]"),
        ("0123456789", 0, "\n[10 characters left out]"),
        ("0123456789", 10, "0123456789"),
        (["0123456789", "abc"], 4, ["0123\n[6 characters left out]", "\n[3 characters left out]"]),
        (
            [{"type": "text", "text": "0123456789"}, {"type": "text", "text": "abc"}],
            12,
            [
                {"type": "text", "text": "0123456789"},
                {"type": "text", "text": "ab\n[1 characters left out]"},
            ],
        ),
        ([{"type": "image_url", "image_url": {"url": "x"}}], 0, None),
        ([{"type": "text", "text": None}, 7, None], 0, None),
        (None, 0, None),
        ({"odd": "shape"}, 0, None),
    ],
)
async def test_a_long_tool_result_is_cut_in_every_shape(
    content: object, limit: int, kept: object
) -> None:
    body: MessageBody = {"role": "tool", "tool_call_id": "c1", "content": content}

    memory = await loaded([[body]], Settings(tool_result_maxlen=limit))

    expected = content if kept is None else kept
    assert memory.history == ({"role": "tool", "tool_call_id": "c1", "content": expected},)


@pytest.mark.parametrize("role", ["user", "assistant"])
async def test_only_tool_results_are_cut(role: str) -> None:
    body: MessageBody = {"role": role, "content": ["long " * 100, {"text": "long " * 100}]}

    memory = await loaded([[body]], Settings(tool_result_maxlen=1))

    assert memory.history == (body,)
