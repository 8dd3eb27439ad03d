"""A run is started at home, executed by another process, and delivered at home, once."""

from collections import Counter

from astrbot_plugin_subagents.manager import RunState, Settings
from astrbot_plugin_subagents.manager.events import (
    ModelCalled,
    TaskEnded,
    TaskStarted,
    ToolStarted,
)
from astrbot_plugin_subagents.manager.models import DeliveryState
from support import fleet as fleets
from support.core import settled
from support.fleet import HOME, OTHER, WORKER, Fleet, Process
from support.task_calls import a_task, blocks, start

fleet = fleets.fleet

QUEUED, RUNNING, COMPLETED = RunState.QUEUED, RunState.RUNNING, RunState.COMPLETED


async def pair(fleet: Fleet) -> tuple[Process, Process]:
    """A worker and a home; the worker gets what any process may have."""
    return await fleet.process(WORKER), await fleet.process(HOME)


async def test_a_waiting_tool_gets_what_another_process_brought_out(fleet: Fleet) -> None:
    worker, home = await pair(fleet)
    worker.children.let("look")
    turn = await home.turn()

    reply = await home.call("transfer_to_ann", turn, input="look")

    assert "look done" in reply
    assert worker.children.begun == ["look"]
    assert home.children.begun == []
    assert turn.children == set()


async def test_a_background_run_wakes_its_owner_at_home_once(fleet: Fleet) -> None:
    worker, home = await pair(fleet)
    (run_id,) = await home.after_turn("look")

    worker.children.let("look")
    await settled()

    assert home.brought() == [(run_id,)]
    assert worker.messenger.begun == []
    [delivery] = await fleet.deliveries()
    assert delivery.state is DeliveryState.ACKNOWLEDGED
    run = await fleet.row(run_id)
    assert (run.state, run.executor, run.fence) == (COMPLETED, "south 1", 1)


async def test_each_state_is_told_once_at_home_and_nowhere_else(fleet: Fleet) -> None:
    worker, home = await pair(fleet)
    (run_id,) = await home.after_turn("look")

    worker.children.let("look")
    await settled()

    assert home.states(run_id) == [QUEUED, RUNNING, COMPLETED]
    assert worker.events == []


async def test_what_a_child_does_is_told_at_home_and_kept_once(fleet: Fleet) -> None:
    worker, home = await pair(fleet)
    (run_id,) = await home.after_turn("wait")
    worker.children.waits.set()
    await settled()
    await fleet.pass_time(2)

    kept = await fleet.inner.events_after(0)
    states = [event.payload["state"] for event in kept if event.kind == "run.changed"]
    assert sorted(states) == ["completed", "queued", "running"]
    kinds = Counter(event.kind for event in kept if event.run_id == run_id)
    assert kinds == {
        "run.changed": 3,
        "model.called": 2,
        "tool.started": 1,
        "tool.finished": 1,
    }


async def test_a_process_alone_among_none_executes_its_own_runs(fleet: Fleet) -> None:
    home = await fleet.process(HOME)
    (run_id,) = await home.after_turn("look")

    home.children.let("look")
    await settled()

    assert home.children.begun == ["look"]
    assert home.states(run_id) == [QUEUED, RUNNING, COMPLETED]
    assert home.brought() == [(run_id,)]
    assert not any(event.retold for event in home.events)


async def test_a_process_has_no_more_at_once_than_its_places_and_others_take_the_rest(
    fleet: Fleet,
) -> None:
    first = await fleet.process(WORKER, places=1)
    second = await fleet.process(OTHER, places=1)
    home = await fleet.process(HOME, places=1, settings=Settings(max_parallel_total=1))
    turn = await home.turn()

    for agent in ("ann", "ben", "cat"):
        await home.begin(turn, f"{agent}'s", agent=agent)
    await settled()

    begun = [process.children.begun for process in (first, second, home)]
    assert begun == [["ann's"], ["ben's"], ["cat's"]]


async def test_the_tasks_of_a_group_go_to_the_model_together(fleet: Fleet) -> None:
    first = await fleet.process(WORKER, places=1)
    second = await fleet.process(OTHER, places=1)
    home = await fleet.process(HOME)
    first.children.let("one")
    second.children.let("two")
    home.children.let("three")
    turn = await home.turn()

    reply = await home.call(
        "task", turn, tasks=[a_task("one"), a_task("two"), a_task("three", "one", "two")]
    )

    assert blocks(reply) == [("one", "completed"), ("two", "completed"), ("three", "completed")]
    begun = [process.children.begun for process in (first, second, home)]
    assert begun == [["one"], ["two"], ["three"]]
    third = home.host.requests[-1]
    assert "one done" in third.prompt
    assert "two done" in third.prompt
    began = [event.run.run_id for event in home.events if isinstance(event, TaskStarted)]
    ended = [event.run.run_id for event in home.events if isinstance(event, TaskEnded)]
    assert len(set(began)) == len(began) == 3
    assert sorted(ended) == sorted(began)


async def test_a_task_whose_predecessor_failed_elsewhere_is_skipped(fleet: Fleet) -> None:
    worker, home = await pair(fleet)
    turn = await home.turn()
    runs = await start(home, turn, a_task("one"), a_task("two", "one"))
    await worker.children.at_work("one")

    await home.call("cancel_subagent_task", turn, task_id=runs[0].run_id)
    await settled()

    states = [(await fleet.row(run.run_id)).state for run in runs]
    assert states == [RunState.CANCELLED, RunState.CANCELLED]
    failure = (await fleet.row(runs[1].run_id)).failure
    assert failure is not None
    assert failure.code == "skipped"
    assert worker.children.begun == ["one"]


async def test_two_tasks_of_one_agent_are_done_one_after_the_other(fleet: Fleet) -> None:
    first = await fleet.process(WORKER)
    second = await fleet.process(OTHER)
    home = await fleet.process(HOME)
    await home.after_turn("one", "two")
    await settled()
    assert (first.children.begun, second.children.begun) == (["one"], [])

    fleet.exchange.workforces.reverse()
    first.children.let("one")
    home.children.let("two")
    await settled()

    assert home.children.begun == ["two"]
    history = [body["content"] for body in home.host.requests[-1].history]
    assert history == ["one", "one done"]


async def test_the_budget_of_the_day_counts_what_other_processes_spent(fleet: Fleet) -> None:
    settings = Settings(token_budget_per_session_day=30)
    worker = await fleet.process(WORKER, settings=settings)
    home = await fleet.process(HOME, settings=settings)
    worker.children.let("one", "two")
    turn = await home.turn()

    first = await home.call("transfer_to_ann", turn, input="one")
    second = await home.call("transfer_to_ann", turn, input="two")

    assert "one done" in first
    assert "token_budget_per_session_day" in second


async def test_what_a_child_is_doing_elsewhere_is_told_again_at_home(fleet: Fleet) -> None:
    worker, home = await pair(fleet)
    (run_id,) = await home.after_turn("wait")
    await settled()

    await fleet.pass_time(2)
    await fleet.pass_time(2)

    told = [event for event in home.events if isinstance(event, ModelCalled | ToolStarted)]
    assert [(event.kind, event.run_id, event.retold) for event in told] == [
        ("model.called", run_id, True),
        ("tool.started", run_id, True),
    ]
    worker.children.waits.set()
    await settled()
    assert home.states(run_id) == [QUEUED, RUNNING, COMPLETED]
