"""Dependencies of tasks: each starts the moment its own predecessors are completed."""

import asyncio

from astrbot_plugin_subagents.manager import RunState, Settings, Turn
from support import core
from support.task_calls import Crew, a_task, blocks, lines, own_text, start

make_core = core.make_core


async def a_crew(
    make_core: core.MakeCore, settings: Settings | None = None
) -> tuple[core.Core, Crew, Turn]:
    crew = Crew()
    it = await make_core(crew.script, settings=settings)
    return it, crew, await it.turn()


async def test_a_diamond_opens_in_the_middle_and_closes_at_its_end(
    make_core: core.MakeCore,
) -> None:
    it, crew, turn = await a_crew(make_core)
    runs = await start(
        it,
        turn,
        a_task("bottom", "left", "right"),
        a_task("left", "top"),
        a_task("right", "top"),
        a_task("top"),
    )
    await crew.at_work("top")
    await core.settled()
    assert crew.begun == ["top"]

    crew.let("top")
    await crew.at_work("left", "right")
    crew.let("left")
    await core.settled()
    assert sorted(crew.begun) == ["left", "right", "top"]

    crew.let("right", "bottom")
    await it.until_over(runs[0].run_id)
    assert [(await it.run(run.run_id)).state for run in runs] == [RunState.COMPLETED] * 4


async def test_a_task_does_not_wait_for_a_slow_one_that_it_does_not_need(
    make_core: core.MakeCore,
) -> None:
    it, crew, turn = await a_crew(make_core)
    slow, *_, third = await start(
        it, turn, a_task("slow"), a_task("first"), a_task("next", "first"), a_task("last", "next")
    )
    crew.let("first", "next", "last")

    await it.until_over(third.run_id)

    assert (await it.run(slow.run_id)).state is RunState.RUNNING
    assert crew.begun == ["slow", "first", "next", "last"]


async def test_a_long_chain_goes_one_by_one_in_whatever_order_it_is_written(
    make_core: core.MakeCore,
) -> None:
    it, crew, turn = await a_crew(make_core)
    names = [f"n{number}" for number in range(16)]
    tasks = [a_task(name, *names[at - 1 : at]) for at, name in enumerate(names)]
    crew.let(*names)

    reply = await it.call("task", turn, tasks=tasks[::-1])

    assert crew.begun == names
    assert blocks(reply) == [(name, "completed") for name in reversed(names)]


async def test_each_task_is_given_only_the_results_that_it_named(make_core: core.MakeCore) -> None:
    it, crew, turn = await a_crew(make_core)
    crew.let("a", "b", "c")

    await it.call("task", turn, tasks=[a_task("a"), a_task("b", "a"), a_task("c", "b")])

    prompts = {own_text(request): request.prompt for request in it.host.requests}
    assert "a done" in prompts["b"]
    assert "b done" in prompts["c"]
    assert "a done" not in prompts["c"]


async def test_a_predecessor_that_is_named_twice_brings_its_result_once(
    make_core: core.MakeCore,
) -> None:
    it, crew, turn = await a_crew(make_core)
    crew.let("a", "b")

    await it.call("task", turn, tasks=[a_task("a"), a_task("b", "a", "a")])

    assert it.host.requests[1].prompt.count("a done") == 1


async def test_one_agent_twice_works_on_one_task_after_the_other(make_core: core.MakeCore) -> None:
    it, crew, turn = await a_crew(make_core)
    await it.create("scout", turn)
    runs = await start(
        it, turn, a_task("a", agent="scout"), a_task("b", agent="Scout"), a_task("c")
    )
    await crew.at_work("a", "c")
    await core.settled()
    assert sorted(crew.begun) == ["a", "c"]

    crew.let("a", "b", "c")
    await it.until_over(*[run.run_id for run in runs])

    assert [body["content"] for body in it.host.requests[2].history] == ["a", "a done"]


async def test_one_agent_twice_with_the_later_task_first_does_not_hold_itself_up(
    make_core: core.MakeCore,
) -> None:
    it, crew, turn = await a_crew(make_core)
    await it.create("scout", turn)
    crew.let("a", "b", "c")

    reply = await it.call(
        "task",
        turn,
        tasks=[
            a_task("b", "a", agent="scout"),
            a_task("a", agent="scout"),
            a_task("c", "b", agent="scout"),
        ],
    )

    assert blocks(reply) == [("b", "completed"), ("a", "completed"), ("c", "completed")]
    assert crew.begun == ["a", "b", "c"]


async def test_whoever_waits_for_predecessors_takes_nobodys_place(
    make_core: core.MakeCore,
) -> None:
    it, crew, turn = await a_crew(make_core, Settings(max_parallel_per_session=1))
    tasks = [a_task("behind", "a"), a_task("a"), a_task("b")]
    calling = asyncio.create_task(it.call("task", turn, tasks=tasks))
    await crew.at_work("a")
    assert crew.begun == ["a"]

    crew.let("a", "b", "behind")
    reply = await calling

    # the line was there first: whoever has waited for a place goes before who has just come
    assert crew.begun == ["a", "b", "behind"]
    assert [state for _, state in blocks(reply)] == ["completed"] * 3


async def test_more_than_there_are_places_for_wait_in_line(make_core: core.MakeCore) -> None:
    it, crew, turn = await a_crew(make_core, Settings(max_parallel_per_session=2))
    runs = await start(it, turn, *[a_task(name) for name in "abcd"])
    await crew.at_work("a", "b")
    notes = await it.notes(turn)

    assert [run.state for run in runs] == [RunState.RUNNING] * 2 + [RunState.QUEUED] * 2
    assert lines(notes)["c"] == "waiting in line, place 1"
    assert lines(notes)["d"] == "waiting in line, place 2"

    crew.let("b")
    await crew.at_work("c")
    assert crew.begun == ["a", "b", "c"]
    crew.let("a", "c", "d")
    await it.until_over(*[run.run_id for run in runs])


async def test_a_result_that_was_read_before_is_given_to_who_needs_it_all_the_same(
    make_core: core.MakeCore,
) -> None:
    it, crew, turn = await a_crew(make_core)
    a, _, c = await start(it, turn, a_task("a"), a_task("slow"), a_task("c", "a", "slow"))
    crew.let("a", "c")
    await it.until_over(a.run_id)
    await it.call("read_subagent_result", turn, task_id=a.run_id)
    await it.end(turn)

    crew.let("slow")
    await it.until_over(c.run_id)

    assert "a done" in it.host.requests[-1].prompt


async def test_an_agent_that_still_has_to_wait_is_not_cleared_away(
    make_core: core.MakeCore,
) -> None:
    it, crew, turn = await a_crew(make_core)
    await it.create("scout", turn)
    _, late = await start(it, turn, a_task("a"), a_task("late", "a", agent="scout"))
    refused = await it.call("remove_subagent", turn, name="scout")
    await it.end(turn)

    crew.let("a", "late")
    await it.until_over(late.run_id)

    assert f"'scout' is at work: {late.run_id}" in refused
    assert (await it.run(late.run_id)).state is RunState.COMPLETED
