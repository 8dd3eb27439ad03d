"""Groups of tasks over a reload of the plugin and a restart of the bot: they go on, or end."""

import asyncio
from collections import Counter

from astrbot_plugin_subagents.manager import Run, RunState, Settings, Turn
from astrbot_plugin_subagents.manager.events import TaskEnded, TaskStarted
from astrbot_plugin_subagents.manager.settings import CustomFilterSettings, TaskSettings
from astrbot_plugin_subagents.manager.store import MemoryStore
from astrbot_plugin_subagents.manager.testing import Act, Fail, FakeHost
from support import core
from support.task_calls import (
    Crew,
    a_fork_context,
    a_task,
    blocks,
    lines,
    own_text,
    runs_of,
    start,
)

make_core = core.make_core


async def cut_off(
    make_core: core.MakeCore, settings: Settings | None = None
) -> tuple[core.Core, Turn, dict[str, Run]]:
    """A bot stopped with `first` over, `slow` and a fork at work, and `late` behind both."""
    crew = Crew()
    it = await make_core(crew.script, settings=settings)
    it.fork_context = a_fork_context
    turn = await it.turn()
    runs = await start(
        it,
        turn,
        a_task("first"),
        a_task("slow"),
        a_task("fork", "first", context="fork"),
        a_task("late", "fork", "slow"),
        a_task("last", "late"),
    )
    crew.let("first")
    await crew.at_work("slow", "fork")
    await it.sessions.close()
    return it, turn, {run.input: run for run in runs}


async def again(
    make_core: core.MakeCore,
    it: core.Core,
    settings: Settings | None = None,
    *,
    executor: str = "process1",
    **ends: Act,
) -> tuple[core.Core, Crew]:
    crew = Crew(**ends)
    root = await make_core(
        host=FakeHost(crew.script),
        store=it.store,
        clock=it.clock,
        settings=settings,
        executor=executor,
    )
    return root, crew


async def test_after_a_reload_a_graph_goes_on_where_it_stood(make_core: core.MakeCore) -> None:
    it, _, runs = await cut_off(make_core)

    root, crew = await again(make_core, it)
    await crew.at_work("slow", "fork")
    await core.settled()
    assert sorted(crew.begun) == ["fork", "slow"]
    crew.let("slow")
    await core.settled()
    crew.let("fork", "late", "last")
    await root.until_over(runs["last"].run_id)

    assert crew.begun[2:] == ["late", "last"]
    states = [(await root.run(run.run_id)).state for run in runs.values()]
    assert states == [RunState.COMPLETED] * 5
    assert "slow done" in root.host.requests[2].prompt
    assert "fork done" in root.host.requests[2].prompt


async def test_after_a_reload_a_fork_begins_with_what_it_began_with(
    make_core: core.MakeCore,
) -> None:
    it, turn, runs = await cut_off(make_core)
    before = next(request for request in it.host.requests if own_text(request) == "fork")

    root, crew = await again(make_core, it)
    await crew.at_work("fork")

    after = next(request for request in root.host.requests if own_text(request) == "fork")
    group = runs["fork"].group_id
    assert group is not None
    assert after.fork == before.fork == a_fork_context(group, turn.session)
    assert after.prompt == before.prompt


async def test_after_a_reload_a_failure_skips_what_was_waiting_before(
    make_core: core.MakeCore,
) -> None:
    it, _, runs = await cut_off(make_core)

    root, crew = await again(make_core, it, slow=Fail())
    crew.let("slow", "fork")
    await root.until_over(runs["last"].run_id, runs["fork"].run_id)

    assert (await root.run(runs["fork"].run_id)).state is RunState.COMPLETED
    for name in ("late", "last"):
        failure = (await root.run(runs[name].run_id)).failure
        assert failure is not None
        assert failure.code == "skipped"


async def test_after_a_reload_a_group_is_awaited_cancelled_and_delivered_as_before(
    make_core: core.MakeCore,
) -> None:
    it, _, runs = await cut_off(make_core)
    root, crew = await again(make_core, it)
    turn = await root.turn()
    await crew.at_work("slow", "fork")
    told = await root.notes(turn)

    reply = await root.call("cancel_subagent_task", turn, task_id=runs["slow"].group_id)
    await root.end(turn)

    assert blocks(told) == []
    assert lines(told).keys() == {"slow", "fork", "late", "last"}
    assert [label for label, _ in blocks(reply)] == ["slow", "fork", "late", "last"]
    assert blocks(await root.notes(await root.turn())) == [("first", "completed")]


async def test_a_group_of_which_all_were_waiting_for_a_place_goes_on(
    make_core: core.MakeCore,
) -> None:
    it, _, runs = await cut_off(make_core, Settings(max_parallel_per_session=2))

    root, crew = await again(make_core, it)
    crew.let(*runs)
    await root.until_over(*[run.run_id for text, run in runs.items() if text != "first"])

    assert sorted(crew.begun) == ["fork", "last", "late", "slow"]


async def test_a_call_that_waits_returns_when_the_plugin_is_reloaded(
    make_core: core.MakeCore,
) -> None:
    crew = Crew()
    it = await make_core(crew.script)
    turn = await it.turn()
    tasks = [a_task("a"), a_task("b"), a_task("c", "b")]
    calling = asyncio.create_task(it.call("task", turn, tasks=tasks))
    await crew.at_work("a", "b")
    crew.let("a")
    await core.settled()

    await it.sessions.close()
    reply = await calling

    assert blocks(reply) == [("a", "completed")]
    assert lines(reply).keys() == {"b", "c"}
    assert "being reloaded; these tasks go on" in reply


async def test_after_a_restart_a_graph_goes_on_in_the_new_process(
    make_core: core.MakeCore,
) -> None:
    it, _, runs = await cut_off(make_core)

    root, crew = await again(make_core, it, executor="process2")
    crew.let(*runs)
    await root.until_over(runs["last"].run_id)

    assert sorted(crew.begun) == ["fork", "last", "late", "slow"]
    told = blocks(await root.notes(await root.turn()))
    assert sorted(told) == sorted((text, "completed") for text in runs)


async def test_without_resuming_a_restart_interrupts_all_that_was_not_over_and_tells_it_once(
    make_core: core.MakeCore,
) -> None:
    it, _, runs = await cut_off(make_core)

    settings = Settings(resume_on_restart=False)
    root, crew = await again(make_core, it, settings, executor="process2")
    turn = await root.turn()
    told = await root.notes(turn)
    await root.end(turn)

    interrupted = "INTERRUPTED by a restart of the bot"
    assert blocks(told) == [
        ("first", "completed"),
        *((name, interrupted) for name in ("slow", "fork", "late", "last")),
    ]
    assert crew.begun == []
    assert await root.notes(await root.turn()) == ""
    group = await root.call("wait_for_subagent", await root.turn(), task_id=runs["late"].group_id)
    assert len(blocks(group)) == 5


async def test_a_reload_tells_of_no_start_and_no_end_a_second_time(
    make_core: core.MakeCore,
) -> None:
    it, _, runs = await cut_off(make_core)
    root, crew = await again(make_core, it)
    crew.let(*runs)
    await root.until_over(runs["last"].run_id)

    events = [*it.events, *root.events]
    ids = {run.run_id for run in runs.values()}
    started = Counter(event.run.run_id for event in events if isinstance(event, TaskStarted))
    ended = Counter(event.run.run_id for event in events if isinstance(event, TaskEnded))
    assert started == ended == Counter(ids)


async def test_two_reloads_in_a_row_lose_nothing(make_core: core.MakeCore) -> None:
    it, _, runs = await cut_off(make_core)
    root, crew = await again(make_core, it)
    crew.let("slow")
    await root.until_over(runs["slow"].run_id)
    await root.sessions.close()

    last, crew = await again(make_core, it)
    crew.let("fork", "late", "last")
    await last.until_over(runs["last"].run_id)

    assert sorted(crew.begun) == ["fork", "last", "late"]
    assert await runs_of(last, f"group_id: {runs['last'].group_id}") == [
        await last.run(run.run_id) for run in runs.values()
    ]


async def test_a_fork_whose_beginning_is_gone_fails_and_skips_the_rest(
    make_core: core.MakeCore,
) -> None:
    it, _, runs = await cut_off(make_core)
    bare = MemoryStore()
    await bare.open()
    await bare.add_runs(await stored(it, runs))

    crew = Crew()
    root = await make_core(crew.script, store=bare, clock=it.clock)
    crew.let("slow", "first")
    await root.until_over(runs["last"].run_id)

    codes = [await code_of(root, runs[text]) for text in ("fork", "late", "last")]
    assert codes == ["run_not_found", "skipped", "skipped"]


async def test_a_task_whose_filter_was_taken_out_of_the_settings_fails(
    make_core: core.MakeCore,
) -> None:
    mine = TaskSettings(custom_filters=(CustomFilterSettings(name="mine"),))
    crew = Crew()
    it = await make_core(crew.script, settings=Settings(task=mine))
    (run,) = await start(it, await it.turn(), a_task("a", tool_filter="mine"))
    await crew.at_work("a")
    await it.sessions.close()

    root, crew = await again(make_core, it)
    await root.until_over(run.run_id)

    assert (await code_of(root, run), crew.begun) == ("unknown_reference", [])


async def stored(it: core.Core, runs: dict[str, Run]) -> list[Run]:
    """The runs as the store has them."""
    await it.store.open()
    found = [await it.store.get_run(run.session, run.run_id) for run in runs.values()]
    return [run for run in found if run is not None]


async def code_of(it: core.Core, run: Run) -> str:
    failure = (await it.run(run.run_id)).failure
    return failure.code if failure else ""
