"""Any graph of tasks, whichever of them fail or are cancelled, ends as its edges allow."""

import asyncio
import tempfile
from dataclasses import dataclass
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from astrbot_plugin_subagents.manager import Run, RunState, Settings
from astrbot_plugin_subagents.manager.events import RunChanged, TaskStarted
from astrbot_plugin_subagents.manager.testing import Fail, FakeHost
from support import core
from support.task_calls import Crew, a_task, blocks, runs_of, start


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A graph, how its tasks end, and in which order a test touches them.

    Attributes:
        edges: For each task those that it depends on.
        order: The tasks as they stand in the call.
        touched: The tasks as they are let go or cancelled.
        failing: Tasks whose model cannot answer.
        cancelled: Tasks that are cancelled instead of let go.
        places: How many may be at work at once.
    """

    edges: dict[str, list[str]]
    order: list[str]
    touched: list[str]
    failing: set[str]
    cancelled: set[str]
    places: int


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    names = [f"n{number}" for number in range(draw(st.integers(1, 12)))]
    edges = {
        name: draw(st.lists(st.sampled_from(names[:at]), unique=True, max_size=3)) if at else []
        for at, name in enumerate(names)
    }
    some = st.sets(st.sampled_from(names), max_size=3)
    return Plan(
        edges=edges,
        order=draw(st.permutations(names)),
        touched=draw(st.permutations(names)),
        failing=draw(some),
        cancelled=draw(some),
        places=draw(st.integers(1, 4)),
    )


async def carried_out(plan: Plan, files: Path) -> tuple[core.Core, list[Run], str]:
    """All of it, to its end: the core, the runs in the order of the call, and what a wait told."""
    crew = Crew(**{name: Fail() for name in plan.failing})
    limits = Settings(max_parallel_per_session=plan.places)
    async with core.Core(files, host=FakeHost(crew.script), settings=limits) as it:
        turn = await it.turn()
        tasks = [a_task(name, *plan.edges[name]) for name in plan.order]
        runs = {run.input: run for run in await start(it, turn, *tasks)}
        for name in plan.touched:
            if name in plan.cancelled:
                await it.call("cancel_subagent_task", turn, task_id=runs[name].run_id)
            crew.let(name)
            await core.settled()
        group = runs[plan.order[0]].group_id
        reply = await it.call("wait_for_subagent", turn, task_id=group)
        ended = await runs_of(it, f"group_id: {group}")
        manager = await it.open()
        assert (manager.runs.live(), manager.runs.free_places()) == ([], plan.places)
    return it, ended, reply


def code_of(run: Run) -> str:
    return run.failure.code if run.failure else "completed"


def check_ends(plan: Plan, runs: dict[str, Run]) -> None:
    """Skipped are exactly those of which a predecessor did not complete."""
    for name, run in runs.items():
        before = [runs[each] for each in plan.edges[name]]
        is_open = all(each.state is RunState.COMPLETED for each in before)
        expected = "provider_error" if name in plan.failing else "completed"
        allowed = {expected if is_open else "skipped"}
        if name in plan.cancelled:
            allowed.add("cancelled")
        assert code_of(run) in allowed
        assert (run.state is RunState.COMPLETED) == (code_of(run) == "completed")


def check_order(plan: Plan, runs: dict[str, Run], it: core.Core) -> None:
    """Each began once, after all that it depends on had ended; who was skipped never began."""
    begun = [event.run.input for event in it.events if isinstance(event, TaskStarted)]
    assert len(begun) == len(set(begun))
    assert not [name for name in begun if code_of(runs[name]) == "skipped"]
    told = [
        (type(event), event.run.input, event.run.is_over)
        for event in it.events
        if isinstance(event, TaskStarted | RunChanged)
    ]
    for name in begun:
        at = told.index((TaskStarted, name, False))
        for each in plan.edges[name]:
            assert told.index((RunChanged, each, True)) < at


@settings(max_examples=25, deadline=None)
@given(plans())
def test_a_graph_ends_in_an_order_that_it_allows_and_skips_exactly_what_it_must(
    plan: Plan,
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        it, ended, reply = asyncio.run(carried_out(plan, Path(folder)))

    runs = {run.input: run for run in ended}
    assert [run.input for run in ended] == plan.order
    assert [label for label, _ in blocks(reply)] == plan.order
    assert sorted(core.ended_ids(it.events)) == sorted(run.run_id for run in ended)
    check_ends(plan, runs)
    check_order(plan, runs, it)
