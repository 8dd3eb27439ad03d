"""The bot at a glance: what there is, what is at work, what went wrong."""

import asyncio

from astrbot_plugin_subagents.manager import Settings
from astrbot_plugin_subagents.manager.testing import Fail, Hang, Say, says
from support import core, dashboard

open_page = dashboard.open_page


async def test_an_overview_of_a_bot_at_work(open_page: dashboard.OpenPage) -> None:
    hang = Hang()
    script = core.replies_by_task(wait=says(hang, Say(text="done")), fail=says(Fail()))
    page = await open_page(script, settings=core.many_agents(max_parallel_per_session=1))
    turn = await page.it.turn()
    for name in ("one", "two", "three"):
        await page.it.create(name, turn)
    await page.it.call("transfer_to_one", turn, input="fail")
    tasks = [
        core.task_id(
            await page.it.call(f"transfer_to_{name}", turn, input="wait", background_task=True)
        )
        for name in ("one", "two", "three")
    ]
    await asyncio.wait_for(hang.reached.wait(), core.LONG)

    reply = await page.get("/overview")

    assert reply["totals"] == {
        "sessions": 1,
        "agents": 3,
        "running": 1,
        "queued": 2,
        "waiting": 0,
        "finished_today": 0,
        "failed_today": 1,
    }
    nothing = {"input": 0, "cached": 0, "output": 0, "total": 0}
    assert reply["today"] == {"runs": 4, "usage": nothing}
    assert reply["limits"] == {"max_parallel_per_session": 1, "max_parallel_total": 64}
    assert [run["run_id"] for run in reply["live"]] == tasks[:1]
    assert [(run["run_id"], run["position"]) for run in reply["queue"]] == [
        (tasks[1], 1),
        (tasks[2], 2),
    ]
    assert [(run["agent"], run["failure"]["code"]) for run in reply["failures"]] == [
        ("one", "provider_error")
    ]
    assert reply["version"] == "0.1.0"
    assert reply["started_at"] == "2030-01-01T12:00:00.000Z"


async def test_an_empty_bot_has_an_overview_too(open_page: dashboard.OpenPage) -> None:
    page = await open_page(settings=Settings())

    reply = await page.get("/overview")

    assert reply == {
        "version": "0.1.0",
        "started_at": "2030-01-01T12:00:00.000Z",
        "totals": dict.fromkeys(
            (
                "sessions",
                "agents",
                "running",
                "queued",
                "waiting",
                "finished_today",
                "failed_today",
            ),
            0,
        ),
        "today": {"runs": 0, "usage": {"input": 0, "cached": 0, "output": 0, "total": 0}},
        "limits": {"max_parallel_per_session": 16, "max_parallel_total": 64},
        "live": [],
        "queue": [],
        "failures": [],
        "store": {"kind": "sqlite", "last_event_id": 0},
    }
