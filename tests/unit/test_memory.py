"""What of its conversation a child is given: trimmed at the ends of runs, long results cut."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_subagents.manager import Settings
from astrbot_plugin_subagents.manager.host import (
    AgentOutcome,
    AgentRequest,
    RunObserver,
)
from astrbot_plugin_subagents.manager.memory import trimmed
from astrbot_plugin_subagents.manager.models import (
    ConversationId,
    MessageBody,
    RunId,
    SessionRecord,
    StoredMessage,
)
from astrbot_plugin_subagents.manager.store import MemoryStore
from astrbot_plugin_subagents.manager.testing import EPOCH, FakeHost, Say, Use, says
from support import core

make_core = core.make_core


class PartsHost(FakeHost):
    """A host whose children's tools answer in parts."""

    def __init__(self, parts: list[dict[str, Any]]) -> None:
        super().__init__()
        self.parts = parts

    async def drive(self, request: AgentRequest, observer: RunObserver) -> AgentOutcome:
        self.requests.append(request)
        call = {"id": "c1", "type": "function", "function": {"name": "see", "arguments": "{}"}}
        await observer.messages_added(
            [
                {"role": "user", "content": request.prompt},
                {"role": "assistant", "content": None, "tool_calls": [call]},
                {"role": "tool", "tool_call_id": "c1", "content": self.parts},
                {"role": "assistant", "content": "done"},
            ]
        )
        return AgentOutcome(text="done")


def rows_of(*runs: str) -> list[StoredMessage]:
    """Rows of runs, each written as the roles of its messages: `uatata`."""
    bodies = [(number, role) for number, roles in enumerate(runs) for role in roles]
    names = {"u": "user", "a": "assistant", "t": "tool"}
    return [
        StoredMessage(
            conversation=ConversationId("c"),
            seq=seq,
            run_id=RunId(f"r{run}"),
            body={"role": names[role], "content": f"{seq}"},
            at=EPOCH,
        )
        for seq, (run, role) in enumerate(bodies, start=1)
    ]


def texts(rows: list[StoredMessage]) -> str:
    return "".join(str(row.body["role"])[0] for row in rows)


@pytest.mark.parametrize(
    ("runs", "limit", "kept"),
    [
        (("ua", "ua"), 4, "uaua"),
        (("ua", "ua"), 3, "ua"),
        (("ua", "ua"), 2, "ua"),
        (("uata", "ua"), 5, "ua"),
        (("ua", "uatata"), 4, "uata"),
        (("ua", "uatata"), 3, "ua"),
        (("ua", "uatata"), 2, "ua"),
        (("ua", "uatata"), 1, ""),
        (("uatata",), 5, "uata"),
        (("uattta",), 4, "ua"),
        (("uattt",), 3, ""),
        ((), 3, ""),
    ],
)
def test_the_newest_whole_runs_are_kept_else_the_end_of_one(
    runs: tuple[str, ...], limit: int, kept: str
) -> None:
    assert texts(trimmed(rows_of(*runs), limit)) == kept


RUN = st.lists(st.sampled_from(["a", "at", "att"]), max_size=5).map(
    lambda steps: "u" + "".join(steps)
)


@given(runs=st.lists(RUN, max_size=5), limit=st.integers(1, 12))
def test_a_history_is_short_enough_and_parts_no_call_from_its_result(
    runs: list[str], limit: int
) -> None:
    rows = rows_of(*runs)

    kept = trimmed(rows, limit)

    assert len(kept) <= limit
    assert texts(kept)[:1] in ("", "u")
    own = [row for row in kept if row in rows]
    assert own == rows[len(rows) - len(own) :]
    if len(rows) <= limit:
        assert kept == rows


async def test_history_can_be_switched_off_and_is_stored_all_the_same(
    make_core: core.MakeCore,
) -> None:
    it = await make_core(settings=Settings(history_enabled=False))
    turn = await it.turn()
    scout = await it.create("scout", turn)

    for text in ("one", "two"):
        await it.call("transfer_to_scout", turn, input=text)

    assert [request.history for request in it.host.requests] == [(), ()]
    assert len(await it.stored_messages(scout)) == 4


@pytest.mark.parametrize("limit", [0, 1, 2, 3, 4, 5, 300])
async def test_only_so_many_messages_are_loaded(make_core: core.MakeCore, limit: int) -> None:
    it = await make_core(settings=Settings(subagent_history_maxlen=limit))
    turn = await it.turn()
    await it.create("scout", turn)

    for text in ("one", "two", "three"):
        await it.call("transfer_to_scout", turn, input=text)

    tasks = [body["content"] for body in it.host.requests[-1].history if body["role"] == "user"]
    assert tasks == ["one", "two"][2 - min(2, limit // 2) :]


@pytest.mark.parametrize("limit", [0, 5, 10, 2000])
async def test_long_tool_results_are_cut_when_loaded_and_never_in_the_store(
    make_core: core.MakeCore, limit: int
) -> None:
    it = await make_core(
        says(Use(tool="search", output="0123456789"), Say(text="a long answer is no tool result")),
        settings=Settings(tool_result_maxlen=limit),
    )
    turn = await it.turn()
    scout = await it.create("scout", turn)

    for _ in range(2):
        await it.call("transfer_to_scout", turn, input="a long task is no tool result either")

    stored = await it.stored_messages(scout)
    cut = {0: "\n[10 characters left out]", 5: "01234\n[5 characters left out]"}
    expected = [
        {**body, "content": cut.get(limit, "0123456789")} if body["role"] == "tool" else body
        for body in stored[:4]
    ]
    assert list(it.host.requests[-1].history) == expected
    assert [body["content"] for body in stored if body["role"] == "tool"] == ["0123456789"] * 2


async def test_a_tool_result_in_parts_is_cut_too(make_core: core.MakeCore) -> None:
    parts: list[dict[str, object]] = [
        {"type": "text", "text": "0123456789"},
        {"type": "image_url", "image_url": {"url": "data:x"}},
        {"type": "text", "text": "more"},
    ]
    it = await make_core(host=PartsHost(parts), settings=Settings(tool_result_maxlen=8))
    turn = await it.turn()
    scout = await it.create("scout", turn)

    for _ in range(2):
        await it.call("transfer_to_scout", turn, input="x")

    loaded = next(body for body in it.host.requests[-1].history if body["role"] == "tool")
    assert loaded["content"] == [
        {"type": "text", "text": "01234567\n[2 characters left out]"},
        parts[1],
        {"type": "text", "text": "\n[4 characters left out]"},
    ]
    assert json.dumps(parts) in json.dumps(await it.stored_messages(scout))


async def test_the_session_may_switch_memory_against_the_settings(
    make_core: core.MakeCore,
) -> None:
    store = MemoryStore()
    await store.open()
    await store.save_session(
        SessionRecord(
            session=core.SessionId("chat"),
            memory_enabled=False,
            created_at=EPOCH,
            last_active_at=EPOCH,
        )
    )
    again = await make_core(store=store)
    turn = await again.turn()
    await again.create("scout", turn)

    for _ in range(2):
        await again.call("transfer_to_scout", turn, input="x")

    assert [request.history for request in again.host.requests] == [(), ()]


async def test_two_agents_of_one_session_do_not_share_a_memory(
    make_core: core.MakeCore,
) -> None:
    it = await make_core(host=FakeHost(says(Say(text="done"))))
    turn = await it.turn()
    for name in ("a", "b"):
        await it.create(name, turn)
        await it.call(f"transfer_to_{name}", turn, input=name)

    await it.call("transfer_to_a", turn, input="again")

    history: list[MessageBody] = list(it.host.requests[-1].history)
    assert [body["content"] for body in history] == ["a", "done"]
