"""The graph of a call: which ones are refused, and when the gate of a run opens."""

import asyncio
import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from astrbot_plugin_subagents.manager import Run, RunId, RunState, SessionId
from astrbot_plugin_subagents.manager.errors import InvalidArgument, RunNotFound
from astrbot_plugin_subagents.manager.models import ConversationId, OwnerId
from astrbot_plugin_subagents.manager.runs.graph import Gate, Node, check_graph, spoiler
from astrbot_plugin_subagents.manager.testing import EPOCH, FakeClock
from support import core

FAILED_STATES = (
    RunState.FAILED,
    RunState.TIMED_OUT,
    RunState.CANCELLED,
    RunState.INTERRUPTED,
)


def nodes(**graph: str) -> list[Node]:
    return [Node(label=label, depends_on=tuple(on.split())) for label, on in graph.items()]


def problem_of(graph: list[Node]) -> tuple[str, str]:
    with pytest.raises(InvalidArgument) as raised:
        check_graph(graph)
    return raised.value.field, raised.value.problem


@pytest.mark.parametrize(
    "graph",
    [
        {},
        {"a": ""},
        {"a": "", "b": ""},
        {"b": "a", "a": ""},
        {"a": "", "b": "a", "c": "a", "d": "b c"},
        {"a": "b b b", "b": ""},
    ],
)
def test_a_graph_that_can_be_carried_out_is_taken(graph: dict[str, str]) -> None:
    check_graph(nodes(**graph))


@pytest.mark.parametrize(
    ("graph", "circle"),
    [
        ({"a": "a"}, "a -> a"),
        ({"a": "b", "b": "a"}, "a -> b -> a"),
        ({"x": "a", "a": "b", "b": "c", "c": "a"}, "a -> b -> c -> a"),
        ({"fine": "", "x": "fine y", "y": "z x", "z": "fine"}, "x -> y -> x"),
        ({"a": "b", "b": "b"}, "b -> b"),
    ],
)
def test_a_circle_is_named_without_what_only_leads_to_it(
    graph: dict[str, str], circle: str
) -> None:
    assert problem_of(nodes(**graph)) == ("depends_on", f"goes in a circle: {circle}")


def test_a_label_that_occurs_twice_is_named_with_its_place() -> None:
    graph = [Node(label="a"), Node(label="b"), Node(label="a")]

    assert problem_of(graph) == ("tasks[2].id", "is used twice: 'a'")


def test_a_label_that_does_not_exist_is_named_with_those_that_do() -> None:
    graph = nodes(a="", b="A")

    assert problem_of(graph) == (
        "tasks[1].depends_on",
        "names no task of this call: 'A' (ids: a, b)",
    )


@settings(max_examples=50, deadline=None)
@given(st.data())
def test_any_graph_without_a_way_back_is_taken_and_any_with_one_is_refused(
    data: st.DataObject,
) -> None:
    count = data.draw(st.integers(1, 12))
    edges = {n: data.draw(st.sets(st.integers(0, n - 1))) if n else set() for n in range(count)}
    order = data.draw(st.permutations(range(count)))
    check_graph([Node(label=str(n), depends_on=tuple(map(str, edges[n]))) for n in order])

    # a way back: the first of a chain of edges waits for its last
    chain = [data.draw(st.integers(0, count - 1))]
    while edges[chain[-1]]:
        chain.append(data.draw(st.sampled_from(sorted(edges[chain[-1]]))))
    edges[chain[-1]] = {chain[0]}
    graph = [Node(label=str(n), depends_on=tuple(map(str, edges[n]))) for n in order]
    field, problem = problem_of(graph)
    names = problem.removeprefix("goes in a circle: ").split(" -> ")

    assert field == "depends_on"
    assert names[0] == names[-1]
    for one, other in itertools.pairwise(names):
        assert int(other) in edges[int(one)]


def a_run(run_id: str, state: RunState = RunState.QUEUED, *depends_on: str) -> Run:
    return Run(
        run_id=RunId(run_id),
        session=SessionId("chat"),
        agent=None,
        conversation=ConversationId(run_id),
        depends_on=tuple(map(RunId, depends_on)),
        state=state,
        input="x",
        owner=OwnerId("alice"),
        created_at=EPOCH,
    )


@pytest.mark.parametrize("state", RunState)
def test_whatever_ended_without_being_completed_spoils(state: RunState) -> None:
    runs = [a_run("a", RunState.COMPLETED), a_run("b", state), a_run("c", RunState.RUNNING)]

    assert spoiler(runs) == (runs[1] if state in FAILED_STATES else None)
    assert spoiler([]) is None


class Runs:
    """Runs that a test moves on, and those of them that are at work in this process."""

    def __init__(self, *runs: Run) -> None:
        self.clock = FakeClock()
        self.known = {run.run_id: run for run in runs}
        self.here: dict[RunId, asyncio.Future[Run]] = {}

    def work_here(self, *run_ids: str) -> None:
        loop = asyncio.get_running_loop()
        self.here = {RunId(run_id): loop.create_future() for run_id in run_ids}

    def end(self, run_id: str, state: RunState = RunState.COMPLETED) -> None:
        key = RunId(run_id)
        self.known[key] = core.replace(self.known[key], state=state)
        if (done := self.here.pop(key, None)) is not None:
            done.set_result(self.known[key])

    async def find(self, run_id: RunId) -> Run:
        if run_id not in self.known:
            raise RunNotFound(run_id)
        return self.known[run_id]

    def gate(self, run_id: str) -> asyncio.Task[Run | None]:
        gate = Gate(
            self.known[RunId(run_id)], clock=self.clock, find=self.find, end_of=self.here.get
        )
        return asyncio.create_task(gate.opens())


async def test_a_gate_opens_with_the_last_of_its_predecessors() -> None:
    runs = Runs(a_run("a"), a_run("b"), a_run("c", RunState.QUEUED, "a", "b"))
    runs.work_here("a", "b")
    gate = runs.gate("c")

    runs.end("b")
    await core.settled()
    assert not gate.done()

    runs.end("a")
    assert await gate is None


async def test_a_gate_stays_shut_as_soon_as_one_of_its_predecessors_fails() -> None:
    runs = Runs(a_run("a"), a_run("b"), a_run("c", RunState.QUEUED, "a", "b"))
    runs.work_here("a", "b")
    gate = runs.gate("c")
    await core.settled()

    runs.end("b", RunState.TIMED_OUT)

    assert await gate == runs.known[RunId("b")]


async def test_a_gate_whose_predecessors_are_all_completed_is_open() -> None:
    runs = Runs(a_run("a", RunState.COMPLETED), a_run("c", RunState.QUEUED, "a"))

    assert await runs.gate("c") is None


async def test_a_gate_looks_again_at_a_predecessor_that_works_elsewhere() -> None:
    runs = Runs(a_run("a", RunState.RUNNING), a_run("c", RunState.QUEUED, "a"))
    gate = runs.gate("c")
    await core.settled()

    runs.clock.advance(60)
    await core.settled()
    assert not gate.done()

    runs.end("a")
    runs.clock.advance(60)
    assert await gate is None


async def test_a_gate_whose_predecessor_is_gone_says_so() -> None:
    runs = Runs(a_run("c", RunState.QUEUED, "a"))

    with pytest.raises(RunNotFound) as raised:
        await runs.gate("c")

    assert raised.value.run_id == "a"


async def test_whoever_leaves_a_gate_takes_nobodys_end_away() -> None:
    runs = Runs(a_run("a"), a_run("c", RunState.QUEUED, "a"))
    runs.work_here("a")
    end, gate = runs.here[RunId("a")], runs.gate("c")
    await core.settled()

    gate.cancel()
    await core.settled()

    assert gate.cancelled()
    assert not end.cancelled()
