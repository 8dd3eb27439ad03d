"""What runs used: every day, and by agent, model and session."""

from typing import Any

from astrbot_plugin_subagents.manager.models import Usage
from astrbot_plugin_subagents.manager.testing import Fail, Say, says
from support import core, dashboard

open_page = dashboard.open_page

SPENT = Usage(input=30, cached=8, output=2)


async def some_days(page: dashboard.Page) -> None:
    """A run each day for three days, of two agents in two chats; the last one fails."""
    for agent, session, task in (
        ("scout", "qq:GroupMessage:1", "say"),
        ("scout", "qq:GroupMessage:1", "say"),
        ("writer", "qq:GroupMessage:2", "fail"),
    ):
        turn = await page.it.turn(session=session)
        if agent not in {config.name for config in (await page.it.open(session)).agents()}:
            await page.it.create(agent, turn)
        await page.it.call(f"transfer_to_{agent}", turn, input=task)
        page.it.clock.advance(24 * 3600)
    await core.settled()


def used(runs: int, total: Usage = SPENT) -> dict[str, Any]:
    """A sum as it is replied."""
    usage = {
        "input": total.input,
        "cached": total.cached,
        "output": total.output,
        "total": total.total,
    }
    return {"runs": runs, "usage": usage}


async def test_usage_has_every_day_and_the_most_first(open_page: dashboard.OpenPage) -> None:
    script = core.replies_by_task(say=says(Say(text="done", usage=SPENT)), fail=says(Fail()))
    page = await open_page(script)
    await some_days(page)

    reply = await page.get("/usage", days=5)

    one = {"runs": 1, "failed": 0, "input": 30, "cached": 8, "output": 2}
    none = {"runs": 0, "failed": 0, "input": 0, "cached": 0, "output": 0}
    assert reply["days"] == [
        {"day": "2029-12-31", **none},
        {"day": "2030-01-01", **one},
        {"day": "2030-01-02", **one},
        {"day": "2030-01-03", **none, "runs": 1, "failed": 1},
        {"day": "2030-01-04", **none},
    ]
    assert reply["agents"] == [
        {"agent": "scout", "failed": 0, **used(2, SPENT + SPENT)},
        {"agent": "writer", "failed": 1, **used(1, Usage())},
    ]
    assert reply["models"] == [{"model": "fake", **used(3, SPENT + SPENT)}]
    assert reply["sessions"] == [
        {
            "session": "qq:GroupMessage:1",
            "title": "qq · Group · 1",
            **used(2, SPENT + SPENT),
        },
        {"session": "qq:GroupMessage:2", "title": "qq · Group · 2", **used(1, Usage())},
    ]


async def test_usage_of_one_session(open_page: dashboard.OpenPage) -> None:
    script = core.replies_by_task(say=says(Say(text="done", usage=SPENT)), fail=says(Fail()))
    page = await open_page(script)
    await some_days(page)

    reply = await page.get("/usage", days=2, session="qq:GroupMessage:2")

    assert [(day["day"], day["runs"]) for day in reply["days"]] == [
        ("2030-01-03", 1),
        ("2030-01-04", 0),
    ]
    assert [each["agent"] for each in reply["agents"]] == ["writer"]
