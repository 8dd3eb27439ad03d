"""Runs whose home stops, loses them, or is another one now: in order, and all within reach."""

from astrbot_plugin_subagents.manager import RunState, Settings
from astrbot_plugin_subagents.manager.models import RunId, SessionId
from support import dashboard
from support import fleet as fleets
from support.core import settled
from support.fleet import HOME, OTHER, WORKER, Fleet
from support.task_calls import a_task

fleet = fleets.fleet

CHAT = SessionId("chat")


async def test_a_reload_does_not_let_the_next_run_of_an_agent_begin(fleet: Fleet) -> None:
    home = await fleet.process(HOME)
    await home.after_turn("one", "two")
    await settled()
    worker = await fleet.process(WORKER)

    await home.sessions.close()
    await settled()

    assert worker.children.begun == ["one"]


async def test_a_home_that_loses_its_run_to_another_does_not_let_the_next_begin(
    fleet: Fleet,
) -> None:
    home = await fleet.process(HOME)
    await home.after_turn("wait", "two")
    await settled()
    workers = [await fleet.process(name, places=1) for name in (WORKER, "east")]
    await fleet.forget(home)
    home.children.waits.set()

    await home.thaw()
    await fleet.pass_time(1)

    assert [worker.children.begun for worker in workers] == [["wait"], []]


async def test_runs_of_one_agent_stay_one_after_the_other_when_their_chat_moves(
    fleet: Fleet,
) -> None:
    workers = [await fleet.process(name, places=1) for name in (WORKER, "east")]
    home = await fleet.process(HOME, places=0)
    await home.after_turn("one")
    await fleet.pass_time(1)
    await home.after_turn("two")
    await settled()
    other = await fleet.process(OTHER, places=0)

    await other.turn()
    await settled()

    assert [worker.children.begun for worker in workers] == [["one"], []]


async def test_all_runs_of_a_chat_are_followed_where_it_has_moved(fleet: Fleet) -> None:
    settings = Settings(max_parallel_per_session=500, starts_per_turn=500)
    await fleet.process(WORKER, settings=settings, places=1000)
    home = await fleet.process(HOME, settings=settings, places=0)
    turn = await home.turn()
    for number in range(110):
        task = a_task(f"t{number}")
        await home.call("task", turn, tasks=[task], background_task=True)
    await home.end(turn)
    await settled()
    other = await fleet.process(OTHER, settings=settings, places=0)

    await other.end(await other.turn())
    await settled()

    assert len((await other.open()).runs.live()) == 110


async def test_another_processs_dashboard_stops_and_answers_a_run_that_its_home_executes(
    fleet: Fleet,
) -> None:
    home = await fleet.process(HOME)
    page = dashboard.page_over(await fleet.process(OTHER, places=0))
    (asking,) = await home.after_turn("ask")
    await settled()
    await page.post("/runs/answer", session=CHAT, run_id=asking, answer="Blue.")
    await settled()
    (hanging,) = await home.after_turn("hang")
    await settled()
    await page.post("/runs/cancel", session=CHAT, run_id=hanging)
    await settled()

    assert (await fleet.row(asking)).state is RunState.COMPLETED
    assert (await fleet.row(hanging)).state is RunState.CANCELLED


async def test_a_run_is_steered_at_its_old_home_after_its_chat_has_moved(fleet: Fleet) -> None:
    home = await fleet.process(HOME)
    (run_id,) = await home.after_turn("wait")
    await settled()
    other = await fleet.process(OTHER)
    await other.turn()
    await settled()

    assert (await other.open()).runs.steer(RunId(run_id), "Look at the sea.")
    await settled()
    home.children.waits.set()
    await settled()

    assert any("sea" in plan.instruction for plan in home.host.plans)
