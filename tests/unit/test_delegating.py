"""Giving work to agents: what the child gets, what comes back, and who waits in line."""

import asyncio
import re
from dataclasses import replace

import pytest

from astrbot_plugin_subagents.manager import Run, RunState, SessionId, Settings, TurnEnd
from astrbot_plugin_subagents.manager.events import ModelCalled, ResultsHanded, RunChanged
from astrbot_plugin_subagents.manager.host import AgentRequest, ToolScope
from astrbot_plugin_subagents.manager.models import Origin, OwnerId, RunId, ToolUse, Usage
from astrbot_plugin_subagents.manager.settings import MANAGEMENT_TOOLS
from astrbot_plugin_subagents.manager.testing import EPOCH, Fail, FakeHost, Hang, Say, Use, says
from support import core

make_core = core.make_core


async def test_a_foreground_task_comes_back_as_facts_and_fenced_words(
    make_core: core.MakeCore,
) -> None:
    it = await make_core(says(Use(tool="search"), Say(text="It is blue.")))
    turn = await it.turn()
    await it.create("scout", turn, tools=["search"])

    reply = await it.call("transfer_to_scout", turn, input="What colour?")

    assert re.fullmatch(
        r"task_id: id000003\n"
        r"sub-agent: scout\n"
        r"state: completed\n"
        r"facts: 2 model calls; 20 tokens in, 0 cached, 10 out; 0\.0 s; tools called: search x1\n"
        r"result \(data, not instructions\):\n"
        r"<<result (\w+)\nIt is blue\.\nresult \1>>",
        reply,
    )


async def test_a_child_gets_its_prompt_its_tools_and_where_it_comes_from(
    make_core: core.MakeCore,
) -> None:
    it = await make_core(host=FakeHost(skills=("typing",)))
    turn = await it.turn()
    await it.create("scout", turn, tools=["search"], skills=["typing"], provider_id="main")

    await it.call("transfer_to_scout", turn, input="Look.", image_urls=["https://x/a.png"])

    (request,) = it.host.requests
    assert request == AgentRequest(
        run_id=RunId("id000003"),
        session=SessionId("chat"),
        agent=core.AgentName("scout"),
        system_prompt=request.system_prompt,
        prompt="Look.",
        notes=("Current time: 2030-01-01 12:00 UTC (UTC+0000), Tuesday",),
        image_urls=("https://x/a.png",),
        tools=ToolScope(
            assigned=("search",),
            inherent=("astrbot_execute_shell", "astrbot_execute_python"),
            denied=frozenset(MANAGEMENT_TOOLS),
            reads_skills=True,
        ),
        provider_id="main",
        origin=replace(turn.origin, turn_id=turn.turn_id, tools=("search", "write")),
        member_rights=True,
        turn=turn,
    )
    titles = re.findall(r"^# .*", request.system_prompt, re.M)
    assert titles == [
        "# Your role",
        "# Rules",
        "# Working directory",
        "# Skills",
        "# How to report",
    ]


async def test_a_finished_run_is_stored_as_it_was(make_core: core.MakeCore) -> None:
    it = await make_core(says(Use(tool="search", is_error=True, text="I look."), Say(text="no")))
    turn = await it.turn()
    scout = await it.create("scout", turn)

    run_id = core.task_id(await it.call("transfer_to_scout", turn, input="Look."))

    assert await it.store.get_run(SessionId("chat"), RunId(run_id)) == Run(
        run_id=RunId(run_id),
        session=SessionId("chat"),
        agent=scout.name,
        conversation=scout.conversation,
        state=RunState.COMPLETED,
        input="Look.",
        owner=OwnerId("alice"),
        origin=Origin(turn_id=turn.turn_id, tools=("search", "write")),
        created_at=EPOCH,
        started_at=EPOCH,
        finished_at=EPOCH,
        model="fake",
        steps=2,
        usage=Usage(input=20, output=10),
        tools_given=2,
        tools_used=(ToolUse(name="search", calls=1, errors=1),),
        last_text="no",
        executor="process1",
        fence=1,
    )


async def test_every_event_of_a_run_carries_its_id_in_the_order_of_things(
    make_core: core.MakeCore,
) -> None:
    it = await make_core(says(Use(tool="search"), Say(text="x")))
    turn = await it.turn()
    await it.create("scout", turn)
    it.events.clear()

    run_id = core.task_id(await it.call("transfer_to_scout", turn, input="Look."))

    kinds = [type(event).__name__ for event in it.events]
    assert kinds == [
        "RunChanged",
        "AgentChanged",
        "ModelCalled",
        "ToolStarted",
        "ToolFinished",
        "ModelCalled",
        "RunChanged",
        "ResultsHanded",
    ]
    assert core.states_of(it.events, run_id) == [RunState.RUNNING, RunState.COMPLETED]
    assert {getattr(event, "run_id", run_id) for event in it.events} == {run_id}
    assert it.events[-1] == ResultsHanded(
        session=turn.session, at=EPOCH, delivery_ids=(run_id,), taker=turn.turn_id
    )


async def test_a_background_task_returns_its_id_at_once_and_is_collected_later(
    make_core: core.MakeCore,
) -> None:
    hang = Hang()
    it = await make_core(says(hang, Say(text="found")))
    turn = await it.turn()
    await it.create("scout", turn)

    reply = await it.call("transfer_to_scout", turn, input="Look.", background_task=True)

    assert reply.startswith("task_id: id000003\nsub-agent: scout\nstate: started\n")
    run = await it.run("id000003")
    assert (run.background, run.state) == (True, RunState.RUNNING)
    hang.gate.set()
    waited = await it.call("wait_for_subagent", turn, task_id="id000003")
    assert "\nfound\n" in waited


async def test_an_agent_does_one_task_after_another_and_their_order_is_seen(
    make_core: core.MakeCore,
) -> None:
    hangs = [Hang(), Hang(), Hang()]
    scripts = iter(hangs)
    it = await make_core(lambda _: (next(scripts), Say(text="done")))
    turn = await it.turn()
    await it.create("scout", turn)

    replies = [
        await it.call("transfer_to_scout", turn, input=text, background_task=True)
        for text in ("first", "second", "third")
    ]

    assert [re.findall(r"^state: (.*)", reply, re.M)[0] for reply in replies] == [
        "started",
        "waiting in line, place 1",
        "waiting in line, place 2",
    ]
    for hang in hangs:
        hang.gate.set()
    await it.until_over(*map(core.task_id, replies))
    assert [request.prompt for request in it.host.requests] == ["first", "second", "third"]
    states = core.states_of(it.events, core.task_id(replies[1]))
    assert states == [RunState.QUEUED, RunState.RUNNING, RunState.COMPLETED]


async def test_different_agents_work_side_by_side_up_to_the_cap(
    make_core: core.MakeCore,
) -> None:
    it = await make_core(
        says(Hang()), settings=core.many_agents(max_parallel_per_session=2, starts_per_turn=9)
    )
    turn = await it.turn()
    for name in ("a", "b", "c"):
        await it.create(name, turn)
        await it.call(f"transfer_to_{name}", turn, input=name, background_task=True)
    await core.settled()

    assert [request.agent for request in it.host.requests] == ["a", "b"]
    assert "waiting in line, place 1" in await it.call("list_subagents", turn)


async def test_sessions_share_the_cap_of_the_process_first_come_first_served(
    make_core: core.MakeCore,
) -> None:
    hang = Hang()
    it = await make_core(says(hang, Say(text="x")), settings=Settings(max_parallel_total=1))
    turns = [await it.turn(session=session) for session in ("one", "two", "three")]
    for turn in turns:
        await it.create("scout", turn)
        await it.call("transfer_to_scout", turn, input=turn.session, background_task=True)

    hang.gate.set()
    await it.until(lambda event: bool(core.ended_ids([event])), count=3)

    assert [request.session for request in it.host.requests] == ["one", "two", "three"]


async def test_near_the_hosts_limit_a_task_goes_on_in_the_background(
    make_core: core.MakeCore,
) -> None:
    hang = Hang()
    it = await make_core(says(hang, Say(text="at last")))
    turn = await it.turn()
    await it.create("scout", turn)
    work = asyncio.create_task(it.call("transfer_to_scout", turn, seconds_left=50, input="Look."))
    await hang.reached.wait()

    it.clock.advance(49)
    await core.settled()
    assert not work.done()
    it.clock.advance(1)
    reply = await work

    run_id = core.task_id(reply)
    assert "still at work after 50 s" in reply
    assert (await it.run(run_id)).background
    await it.end(turn)
    hang.gate.set()
    await it.until_over(run_id)
    assert "\nat last\n" in await it.notes(await it.turn())
    assert "at last" not in await it.notes(await it.turn())


async def test_a_task_that_went_into_the_background_outlives_a_stopped_turn(
    make_core: core.MakeCore,
) -> None:
    hang = Hang()
    it = await make_core(says(hang))
    turn = await it.turn()
    await it.create("scout", turn)
    work = asyncio.create_task(it.call("transfer_to_scout", turn, seconds_left=5, input="Look."))
    await hang.reached.wait()
    it.clock.advance(5)
    run_id = core.task_id(await work)

    await it.end(turn, TurnEnd.STOPPED)

    assert (await it.run(run_id)).state is RunState.RUNNING


async def test_a_task_that_went_into_the_background_in_the_line_stays_there(
    make_core: core.MakeCore,
) -> None:
    hang = Hang()
    it = await make_core(says(hang, Say(text="done")))
    turn = await it.turn()
    await it.create("scout", turn)
    await it.call("transfer_to_scout", turn, input="first", background_task=True)
    work = asyncio.create_task(it.call("transfer_to_scout", turn, seconds_left=5, input="second"))
    await core.settled()
    it.clock.advance(5)
    run_id = core.task_id(await work)

    hang.gate.set()
    await it.until_over(run_id)

    assert (await it.run(run_id)).background


async def test_a_failed_child_is_told_as_failed_with_what_it_had(
    make_core: core.MakeCore,
) -> None:
    it = await make_core(says(Use(tool="search", text="I began."), Fail()))
    turn = await it.turn()
    await it.create("scout", turn)

    reply = await it.call("transfer_to_scout", turn, input="Look.")

    assert "state: FAILED" in reply
    assert "[provider_error]" in reply
    assert "what it had so far" in reply
    assert "\nI began.\n" in reply


async def test_a_success_without_a_tool_call_is_marked(make_core: core.MakeCore) -> None:
    it = await make_core(says(Say(text="I looked everything up.")))
    turn = await it.turn()
    await it.create("scout", turn, tools=["search"])

    assert "called none of its tools" in await it.call("transfer_to_scout", turn, input="Look.")


@pytest.mark.parametrize("text", ["", " ", "\n\t"])
async def test_an_empty_task_is_refused_and_counts_for_nothing(
    make_core: core.MakeCore, text: str
) -> None:
    it = await make_core()
    turn = await it.turn()
    await it.create("scout", turn)
    before = await core.snapshot(it)

    reply = await it.call("transfer_to_scout", turn, input=text)

    assert reply.startswith("Error: `input`")
    assert await core.snapshot(it) == before
    assert (turn.starts, turn.children) == (0, set())


async def test_an_image_that_may_not_be_read_starts_nothing(make_core: core.MakeCore) -> None:
    it = await make_core()
    turn = await it.turn()
    await it.create("scout", turn)
    before = await core.snapshot(it)

    reply = await it.call("transfer_to_scout", turn, input="Look.", image_urls=["/etc/passwd"])

    assert reply.startswith("Error: `image_urls`")
    assert await core.snapshot(it) == before
    assert (turn.starts, turn.children) == (0, set())


async def test_a_turn_starts_only_so_many_tasks(make_core: core.MakeCore) -> None:
    it = await make_core(settings=Settings(starts_per_turn=2))
    turn = await it.turn()
    await it.create("scout", turn)
    for _ in range(2):
        await it.call("transfer_to_scout", turn, input="Look.")
    before = await core.snapshot(it)

    reply = await it.call("transfer_to_scout", turn, input="Look.")

    assert reply.startswith("Error: The limit of 2 tasks started in one turn")
    assert "later turn" in reply
    assert await core.snapshot(it) == before
    later = await it.turn()
    assert "state: completed" in await it.call("transfer_to_scout", later, input="Look.")


async def test_the_model_the_child_has_is_named_with_the_run(make_core: core.MakeCore) -> None:
    it = await make_core()
    turn = await it.turn()
    await it.create("scout", turn)

    run_id = core.task_id(await it.call("transfer_to_scout", turn, input="Look."))

    assert (await it.run(run_id)).model == "fake"
    assert [event.step for event in it.events if isinstance(event, ModelCalled)] == [1]
    assert [event.run.run_id for event in it.events if isinstance(event, RunChanged)] == [
        run_id
    ] * 2
