"""Runs on the page: lists, one as a whole, and its messages with what each step took."""

import asyncio
from datetime import timedelta
from typing import Any

from astrbot_plugin_subagents.dashboard_api.shaping_messages import messages
from astrbot_plugin_subagents.dashboard_api.steps import steps_of
from astrbot_plugin_subagents.dashboard_api.timeline_views import waits_of
from astrbot_plugin_subagents.manager.models import (
    ConversationId,
    MessageBody,
    RunId,
    SessionId,
    StoredMessage,
)
from astrbot_plugin_subagents.manager.stored_event import StoredEvent
from astrbot_plugin_subagents.manager.testing import EPOCH, Fail, Hang, Say, Use, says
from support import core, dashboard

open_page = dashboard.open_page


def ids(reply: dict[str, Any]) -> list[str]:
    """The runs of a list."""
    return [run["run_id"] for run in reply["items"]]


async def two_runs(page: dashboard.Page) -> list[str]:
    """A run of alice that completes, and one of bob in another chat that fails."""
    found = []
    for owner, session, agent, task in (
        ("alice", "chat", "scout", "look"),
        ("bob", "other", "writer", "write"),
    ):
        turn = await page.it.turn(owner, session=session)
        await page.it.create(agent, turn)
        reply = await page.it.call(f"transfer_to_{agent}", turn, input=task)
        found.append(core.task_id(reply))
        page.it.clock.advance(60)
    await core.settled()
    return found


TWO = core.replies_by_task(
    look=says(Use(tool="search", arguments='{"q": 1}', output="found"), Say(text="done")),
    write=says(Fail()),
)


async def test_runs_of_all_sessions_are_listed_newest_first(
    open_page: dashboard.OpenPage,
) -> None:
    page = await open_page(TWO)
    first, second = await two_runs(page)

    reply = await page.get("/runs")

    assert (ids(reply), reply["total"]) == ([second, first], 2)
    assert reply["items"][1] == {
        "run_id": first,
        "session": "chat",
        "agent": "scout",
        "kind": "delegate",
        "agent_type": None,
        "context": None,
        "group_id": None,
        "depends_on": [],
        "parent": None,
        "state": "completed",
        "background": False,
        "input": "look",
        "owner": "alice",
        "owner_name": None,
        "created_at": "2030-01-01T12:00:00.000Z",
        "started_at": "2030-01-01T12:00:00.000Z",
        "finished_at": "2030-01-01T12:00:00.000Z",
        "steps": 2,
        "usage": {"input": 20, "cached": 0, "output": 10, "total": 30},
        "model": "fake",
        "question": "",
        "failure": None,
        "cut_short": "",
        "delivery": "handed",
        "position": None,
        "executor": "process1",
    }


async def test_runs_can_be_narrowed(open_page: dashboard.OpenPage) -> None:
    page = await open_page(TWO)
    first, second = await two_runs(page)

    assert ids(await page.get("/runs", session="chat")) == [first]
    assert ids(await page.get("/runs", agent="WRITER")) == [second]
    assert ids(await page.get("/runs", state="completed,queued")) == [first]
    assert ids(await page.get("/runs", kind="task")) == []
    assert ids(await page.get("/runs", query="LOO")) == [first]
    assert ids(await page.get("/runs", since="2030-01-01T12:00:30Z")) == [second]
    assert ids(await page.get("/runs", group="none")) == []
    assert ids(await page.get("/runs", limit=1, offset=1)) == [first]


async def test_a_run_is_shown_whole(open_page: dashboard.OpenPage) -> None:
    page = await open_page(TWO)
    run_id, _ = await two_runs(page)

    reply = await page.get("/run", session="chat", run_id=run_id)

    row = (await page.get("/runs", session="chat"))["items"][0]
    assert {key: reply[key] for key in row} == row
    assert {key: value for key, value in reply.items() if key not in row} == {
        "last_text": "done",
        "image_urls": [],
        "tools_given": 2,
        "tools_used": [{"name": "search", "calls": 1, "errors": 0}],
        "artifacts": [],
        "origin": {
            "adapter": "",
            "sender_name": "",
            "group_id": "",
            "persona_id": "",
            "message_type": "",
        },
        "actions": {"cancel": False, "steer": False, "answer": False, "retry": True},
        "max_steps": 30,
        "filter": None,
    }


async def test_a_run_is_found_in_its_own_session_alone(open_page: dashboard.OpenPage) -> None:
    page = await open_page(TWO)
    run_id, _ = await two_runs(page)

    for path in ("/run", "/transcript"):
        refused = await page.get_refused(path, session="other", run_id=run_id)
        assert refused == dashboard.Refused(status=404, code="run_not_found", fields={})


async def test_a_run_at_work_is_shown_as_it_stands_in_memory(
    open_page: dashboard.OpenPage,
) -> None:
    hang = Hang()
    page = await open_page(says(Say(text="so far")), store=None)
    page.it.host.script = says(Use(tool="search", text="I look.", read_only=True), hang)
    turn = await page.it.turn()
    await page.it.create("scout", turn)
    run_id = core.task_id(
        await page.it.call("transfer_to_scout", turn, input="look", background_task=True)
    )
    async with asyncio.timeout(core.LONG):
        await hang.reached.wait()

    row = (await page.get("/runs"))["items"][0]
    detail = await page.get("/run", session="chat", run_id=run_id)

    assert (row["state"], row["steps"], row["usage"]["total"]) == ("running", 1, 15)
    assert detail["last_text"] == "I look."
    assert detail["actions"] == {"cancel": True, "steer": True, "answer": False, "retry": False}


async def test_a_transcript_is_read_page_by_page(open_page: dashboard.OpenPage) -> None:
    page = await open_page(TWO)
    run_id, _ = await two_runs(page)

    whole = await page.get("/transcript", session="chat", run_id=run_id)
    rest = await page.get("/transcript", session="chat", run_id=run_id, offset=2, limit=1)

    said = [(each["role"], each["text"]) for each in whole["items"]]
    assert said == [("user", "look"), ("assistant", ""), ("tool", "found"), ("assistant", "done")]
    assert whole["items"][1]["tool_calls"] == [
        {"id": "call0", "name": "search", "arguments": '{"q": 1}'}
    ]
    assert whole["total"] == 4
    assert (rest["items"][0]["index"], rest["items"][0]["text"]) == (2, "found")


async def test_of_an_agent_that_is_gone_the_journal_is_left(
    open_page: dashboard.OpenPage,
) -> None:
    page = await open_page(TWO)
    run_id, _ = await two_runs(page)
    await page.post("/agents/remove", session="chat", name="scout")

    reply = await page.get("/transcript", session="chat", run_id=run_id)

    assert [(each["role"], each["text"]) for each in reply["items"]] == [
        ("assistant", ""),
        ("tool", "found"),
    ]
    assert reply["total"] == 2


async def test_an_agents_memory_is_read(open_page: dashboard.OpenPage) -> None:
    page = await open_page(TWO)
    await two_runs(page)

    reply = await page.get("/memory", session="chat", agent="Scout", offset=3)
    refused = await page.get_refused("/memory", session="chat", agent="nobody")

    assert [each["text"] for each in reply["items"]] == ["done"]
    assert reply["total"] == 4
    assert refused == dashboard.Refused(status=404, code="agent_not_found", fields={})


def happened(kind: str, second: float, **payload: Any) -> StoredEvent:
    """An event of a run."""
    return StoredEvent(
        session=SessionId("chat"),
        run_id=RunId("run"),
        kind=kind,
        payload=payload,
        at=EPOCH + timedelta(seconds=second),
    )


def said(second: float, body: MessageBody) -> StoredMessage:
    """A message of a run."""
    return StoredMessage(
        conversation=ConversationId("memory"),
        seq=1,
        run_id=RunId("run"),
        body=body,
        at=EPOCH + timedelta(seconds=second),
    )


def calls(*names: str) -> list[dict[str, Any]]:
    """Tool calls as a model makes them; their ids are their names with a number."""
    return [
        {"id": f"{name}{number}", "function": {"name": name, "arguments": {"n": number}}}
        for number, name in enumerate(names)
    ]


def test_messages_are_told_with_the_tokens_and_seconds_of_their_steps() -> None:
    events = [
        happened("run.changed", 0, state="running"),
        happened("model.called", 3, step=1, tokens=[10, 2, 5]),
        happened("tool.started", 3, name="read"),
        happened("tool.started", 3, name="write"),
        happened("tool.finished", 4.5, name="write"),
        happened("tool.finished", 8, name="read"),
        happened("model.called", 10, step=2, tokens=[7, 0, 1]),
    ]
    rows = [
        said(0, {"role": "user", "content": "look"}),
        said(8, {"role": "assistant", "content": None, "tool_calls": calls("read", "write")}),
        said(8, {"role": "tool", "tool_call_id": "read0", "content": "a"}),
        said(8, {"role": "tool", "tool_call_id": "write1", "content": "b"}),
        said(10, {"role": "assistant", "content": "done"}),
    ]

    found = messages(rows, offset=5, steps=steps_of(events))

    assert [(each.index, each.step, each.seconds) for each in found] == [
        (5, None, None),
        (6, 1, 3.0),
        (7, 1, 5.0),
        (8, 1, 1.5),
        (9, 2, 2.0),
    ]
    assert [each.tokens.model_dump() if each.tokens else None for each in found] == [
        None,
        {"input": 10, "cached": 2, "output": 5},
        None,
        None,
        {"input": 7, "cached": 0, "output": 1},
    ]


def test_messages_whose_events_are_gone_are_told_without_figures() -> None:
    (found,) = messages([said(1, {"role": "assistant", "content": "done"})], offset=0)

    assert (found.text, found.step, found.tokens, found.seconds) == ("done", None, None, None)


def test_a_message_of_many_parts_is_told_as_text_thoughts_and_pictures() -> None:
    body = {
        "role": "assistant",
        "content": [
            {"type": "think", "think": "Hm."},
            {"type": "text", "text": "<b>One</b>"},
            {"type": "image_url", "image_url": {"url": "base64://x"}},
            {"type": "text", "text": "two \ud800"},
            {"type": "audio_url"},
            "three",
            7,
        ],
    }

    (found,) = messages([said(1, body)], offset=0)

    assert (found.text, found.reasoning, found.images) == (
        "<b>One</b>\ntwo \ufffd\nthree",
        "Hm.",
        1,
    )


def test_what_no_model_should_say_is_told_as_far_as_it_can_be() -> None:
    rows = [
        said(1, {"role": "developer", "content": {"text": "odd"}}),
        said(1, {"role": "assistant", "tool_calls": [None, {"function": None}, {"function": {}}]}),
        said(1, {"role": "tool", "tool_call_id": 7, "content": None}),
    ]

    found = messages(rows, offset=0)

    assert [(each.role, each.text) for each in found] == [
        ("system", "odd"),
        ("assistant", ""),
        ("tool", ""),
    ]
    assert [call.model_dump() for call in found[1].tool_calls] == [
        {"id": "", "name": "", "arguments": ""}
    ]
    assert found[2].tool_call_id == "7"


def test_waits_for_an_answer_are_read_from_the_events_of_a_run() -> None:
    events = [
        happened("run.changed", 1, state="running"),
        happened("run.changed", 2, state="waiting"),
        happened("model.called", 3),
        happened("run.changed", 5, state="running"),
        happened("run.changed", 7, state="waiting"),
    ]

    assert waits_of(events) == [
        (EPOCH + timedelta(seconds=2), EPOCH + timedelta(seconds=5)),
        (EPOCH + timedelta(seconds=7), None),
    ]


async def test_a_timeline_has_the_runs_of_some_time_oldest_first(
    open_page: dashboard.OpenPage,
) -> None:
    page = await open_page(says(Say(text="done")))
    turn = await page.it.turn()
    await page.it.create("scout", turn)
    found = []
    for number in range(3):
        reply = await page.it.call("transfer_to_scout", turn, input=f"look {number}")
        found.append(core.task_id(reply))
        page.it.clock.advance(60)

    whole = await page.get("/timeline", session="chat")
    part = await page.get(
        "/timeline",
        session="chat",
        since="2030-01-01T12:00:30+00:00",
        until="2030-01-01T13:01:00+01:00",
    )

    assert [bar["run_id"] for bar in whole["items"]] == found
    assert whole["now"] == "2030-01-01T12:03:00.000Z"
    assert part["items"] == [
        {
            "run_id": found[1],
            "agent": "scout",
            "kind": "delegate",
            "state": "completed",
            "created_at": "2030-01-01T12:01:00.000Z",
            "started_at": "2030-01-01T12:01:00.000Z",
            "finished_at": "2030-01-01T12:01:00.000Z",
            "waits": [],
            "depends_on": [],
            "group_id": None,
            "input": "look 1",
        }
    ]
