"""What other plugins see of the tool `task`: calls with the id of their task, and its events."""

import re
from pathlib import Path
from typing import Any

import pytest

from support.astrbot_host import Bot
from support.plugin_events import plugin_events
from support.replies import call, calls, say
from support.script import Script, said

pytestmark = [pytest.mark.host, pytest.mark.asyncio(loop_scope="session")]

GUARD = """
from astrbot.api.event import filter
from astrbot.api.star import Star

class Guard(Star):
    @filter.on_using_llm_tool()
    async def stop(self, event, tool, arguments):
        if tool.name == "get_weather":
            event.stop_event()
"""

DOCS = Path(__file__).parents[2] / "docs" / "for-plugins.md"


def example() -> str:
    """The plugin in the documentation that keeps who called what."""
    found = re.findall(r"```python\n(.*?)```", DOCS.read_text("utf-8"), re.DOTALL)
    (audit,) = [each for each in found if "class Audit" in each]
    return str(audit)


async def test_other_plugins_hooks_know_of_which_task_a_call_is(
    bot: Bot, model: Script, weather: Any
) -> None:
    audit = await bot.plugins.add("test_audit", example())
    tasks = [
        {"task": "Look at Oslo.", "tool_filter": "none"},
        {"task": "Look at Rome.", "tool_filter": "none", "context": "fork"},
    ]
    model.main(call("task", {"tasks": tasks}), say("done"))
    for city in ("Oslo", "Rome"):
        asking = calls(("get_weather", {"city": city}))
        model.role(city, said(f"Look at {city}."), asking, say("Sunny."))

    with plugin_events(bot) as events:
        await bot.say("look")
    seen = list(audit.calls)
    await bot.plugins.uninstall("test_audit")

    ids = {each.run.run_id: each.run.kind for each in events.all if each.kind == "task.start"}
    ended = [each.run.run_id for each in events.all if each.kind == "task.end"]
    assert sorted(ids.values()) == ["fork", "task"]
    assert sorted(ended) == sorted(ids)
    assert seen[0] == (None, "task")
    assert sorted(seen[1:]) == sorted((run_id, "get_weather") for run_id in ids)
    assert sorted(city for _, _, city in weather.asked) == ["Oslo", "Rome"]


async def test_a_plugin_that_stops_a_call_stops_that_of_a_fork(
    bot: Bot, model: Script, weather: Any
) -> None:
    await bot.plugins.add("test_guard", GUARD)
    fork = {"task": "Look at Oslo.", "tool_filter": "none", "context": "fork"}
    model.main(call("task", {"tasks": [fork]}), say("done"))
    model.role("fork", said("Look at Oslo."), call("get_weather", {"city": "Oslo"}))

    with plugin_events(bot) as events:
        turn = await bot.say("look")
    await bot.plugins.uninstall("test_guard")

    (end,) = [each.run for each in events.all if each.kind == "task.end"]
    assert (end.state, end.failure.code) == ("failed", "stopped_by_plugin")
    assert weather.asked == []
    assert turn.answer == "done"
