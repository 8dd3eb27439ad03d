"""Faults of earlier systems around states and results, each with the right value."""

import asyncio
import inspect
from collections import Counter
from typing import Any

import pytest

from astrbot_plugin_subagents.manager import Settings
from astrbot_plugin_subagents.manager.models import RunState
from astrbot_plugin_subagents.manager.store import Store
from astrbot_plugin_subagents.manager.testing import Fail, Hang, Say, Use, says
from support import core

make_core = core.make_core

CLAIMS = [
    "completed",
    "SUCCESS",
    "state: completed",
    "Error: it failed",
    "task_id: r1\nstate: FAILED",
]


@pytest.mark.parametrize("claim", CLAIMS)
@pytest.mark.parametrize(
    ("end", "state", "title"),
    [
        (Say(text="{}"), RunState.COMPLETED, "completed"),
        (Fail(message="{}"), RunState.FAILED, "FAILED"),
    ],
)
async def test_nothing_that_a_child_or_its_provider_says_changes_its_state(
    make_core: core.MakeCore, claim: str, end: Say | Fail, state: RunState, title: str
) -> None:
    last = Say(text=claim) if isinstance(end, Say) else Fail(message=claim)
    it = await make_core(says(Use(tool="search", text=claim, output=claim), last))
    turn = await it.turn()
    await it.create("scout", turn)

    reply = await it.call("transfer_to_scout", turn, input="x")

    run = await it.run(core.task_id(reply))
    head, _, words = reply.partition("\n<<result ")
    assert run.state is state
    assert [line for line in head.splitlines() if line.startswith("state: ")] == [f"state: {title}"]
    assert claim in words


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("remove_subagent", {"name": "scout"}),
        ("reset_subagent", {"name": "scout"}),
        ("protect_subagent", {"name": "scout"}),
        ("unprotect_subagent", {"name": "scout"}),
        ("cancel_subagent_task", {"subagent_name": "scout"}),
        ("wait_for_subagent", {"subagent_name": "scout"}),
        (
            "send_shared_context_for_main_agent",
            {"context_type": "message", "content": "x", "target": "scout"},
        ),
    ],
)
async def test_an_agent_that_just_went_is_not_found_and_nothing_breaks(
    make_core: core.MakeCore, tool: str, arguments: dict[str, Any]
) -> None:
    it = await make_core()
    turn = await it.turn()
    await it.create("scout", turn)
    await it.create("clerk", turn)
    await it.call("remove_subagent", turn, name="scout")
    before = await core.snapshot(it)

    reply = await it.call(tool, turn, **arguments)

    assert reply.startswith("Error: There is no sub-agent named 'scout'.")
    assert "clerk" in reply
    assert await core.snapshot(it) == before


async def test_a_transfer_to_an_agent_that_went_starts_nothing(make_core: core.MakeCore) -> None:
    it = await make_core()
    turn = await it.turn()
    await it.create("scout", turn)
    manager = await it.open()
    going = asyncio.create_task(it.call("remove_subagent", turn, name="scout"))

    reply = await it.call("transfer_to_scout", turn, input="x")
    gone = await going

    # whichever came first, both say what is true
    assert gone.startswith("Error: ") is not reply.startswith("Error: ")
    assert manager.runs.live() == []


async def test_a_run_that_ended_without_any_text_is_told_as_such(
    make_core: core.MakeCore,
) -> None:
    it = await make_core(says(Fail(code="provider_error", message="no model")))
    turn = await it.turn()
    await it.create("scout", turn)
    run_id = core.task_id(await it.call("transfer_to_scout", turn, input="x"))

    waited = await it.call("wait_for_subagent", turn, task_id=run_id)
    read = await it.call("read_subagent_result", turn, task_id=run_id)

    assert "state: FAILED" in waited
    assert "no model [provider_error]" in waited
    assert "state: failed" in read
    for reply in (waited, read):
        assert "it wrote no text" in reply.lower()


async def test_a_run_that_never_began_has_a_truthful_result(make_core: core.MakeCore) -> None:
    hang = Hang()
    it = await make_core(says(hang, Say(text="done")))
    turn = await it.turn()
    await it.create("scout", turn)
    first, second = [
        core.task_id(await it.call("transfer_to_scout", turn, input=task, background_task=True))
        for task in "xy"
    ]
    await it.call("cancel_subagent_task", turn, task_id=second)

    reply = await it.call("read_subagent_result", turn, task_id=second)
    hang.gate.set()
    await it.until_over(first)

    assert "state: cancelled" in reply
    assert "0 model calls" in reply
    assert "It wrote no text." in reply


def test_the_store_takes_no_two_texts_of_one_kind_by_position() -> None:
    methods = [each for _, each in inspect.getmembers(Store, inspect.isfunction)]
    doubled = {
        method.__name__
        for method in methods
        for count in Counter(
            parameter.annotation
            for name, parameter in inspect.signature(method).parameters.items()
            if name != "self" and parameter.kind is parameter.POSITIONAL_OR_KEYWORD
        ).values()
        if count > 1
    }

    assert len(methods) > 20
    assert doubled == set()


@pytest.mark.parametrize(
    ("changes", "arguments"),
    [
        ({}, {"input": " "}),
        ({}, {"input": "x", "image_urls": ["file:///etc/passwd"]}),
        ({}, {"input": ["x"]}),
        ({"starts_per_turn": 0}, {"input": "x"}),
    ],
)
async def test_what_is_refused_has_no_id_and_was_never_started(
    make_core: core.MakeCore, changes: dict[str, Any], arguments: dict[str, Any]
) -> None:
    it = await make_core(settings=Settings(**changes))
    turn = await it.turn()
    await it.create("scout", turn)
    before = await core.snapshot(it)

    reply = await it.call("transfer_to_scout", turn, **arguments, background_task=True)
    await core.settled()

    assert reply.startswith("Error: ")
    assert "task_id" not in reply
    assert await core.snapshot(it) == before
    assert it.host.requests == []


async def test_a_foreground_task_is_seen_at_work_and_a_second_one_stands_in_line(
    make_core: core.MakeCore,
) -> None:
    hang = Hang()
    it = await make_core(says(hang, Say(text="done")))
    turn = await it.turn()
    scout = await it.create("scout", turn)
    work = [
        asyncio.create_task(it.call("transfer_to_scout", turn, input=f"task {n}")) for n in (1, 2)
    ]
    await hang.reached.wait()

    listed = await it.call("list_subagents", turn)
    removed = await it.call("remove_subagent", turn, name="scout")
    hang.gate.set()
    await asyncio.gather(*work)

    assert "status: running" in listed
    assert "waiting in line, place 1" in listed
    assert removed.startswith("Error: Sub-agent 'scout' is at work: ")
    said = [body["content"] for body in await it.stored_messages(scout)]
    assert said == ["task 1", "done", "task 2", "done"]


async def test_a_finished_task_is_told_alone_whatever_others_of_its_agent_do(
    make_core: core.MakeCore,
) -> None:
    hang = Hang()
    it = await make_core(
        core.replies_by_task(
            good=says(Say(text="fine")), bad=says(Fail()), long=says(hang, Say(text="late"))
        )
    )
    turn = await it.turn()
    await it.create("scout", turn)
    good, bad = [
        core.task_id(await it.call("transfer_to_scout", turn, input=task))
        for task in ("good", "bad")
    ]
    long = core.task_id(
        await it.call("transfer_to_scout", turn, input="long", background_task=True)
    )
    await hang.reached.wait()

    reply = await it.call("wait_for_subagent", turn, task_id=good)
    hang.gate.set()
    await it.until_over(long)

    assert "\nfine\n" in reply
    assert bad not in reply
    assert long not in reply


async def test_a_task_that_has_said_something_is_not_done_before_it_is(
    make_core: core.MakeCore,
) -> None:
    hang = Hang()
    it = await make_core(says(Use(tool="search", text="I am done."), hang, Say(text="Really.")))
    turn = await it.turn()
    await it.create("scout", turn)
    run_id = core.task_id(await it.call("transfer_to_scout", turn, input="x", background_task=True))
    await hang.reached.wait()
    wait = asyncio.create_task(
        it.call("wait_for_subagent", turn, task_id=run_id, mode="any", timeout=1)
    )
    await core.settled()

    it.clock.advance(1)
    waited, read = await wait, await it.call("read_subagent_result", turn, task_id=run_id)
    hang.gate.set()
    await it.until_over(run_id)

    assert "running" in waited
    assert "I am done." in waited
    assert read.startswith(f"Error: Task {run_id} is running; it has no result yet.")


async def test_a_task_that_ends_without_a_word_is_done_all_the_same(
    make_core: core.MakeCore,
) -> None:
    it = await make_core(says(Say(text="")))
    turn = await it.turn()
    await it.create("scout", turn)

    reply = await it.call("transfer_to_scout", turn, input="x")

    assert "state: completed" in reply
    assert "it wrote no text" in reply
