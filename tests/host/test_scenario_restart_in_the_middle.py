"""The bot is killed in the middle of a job: what was begun is finished, and the user is answered.

The job is the one of `test_scenario_mixed`: two sub-agents work in the background while the main
agent waits for both. AstrBot itself keeps nothing of the turn that was cut off.
"""

import json
from pathlib import Path

import pytest

from support.astrbot_process import AstrBotProcess, running
from support.astrbot_root import AstrBotRoot
from support.replies import call, calls, never, say
from support.script import Script, tool_results
from support.scripted_model import ScriptedModel

pytestmark = [pytest.mark.host, pytest.mark.asyncio(loop_scope="session")]

QUESTION = "Compare the harbour with the mine."
ANSWER = "The harbour is deeper."
PAIR = ("diver", "miner")

TIDES = '''
from pathlib import Path

from astrbot.api.event import filter
from astrbot.api.star import Star

class Tides(Star):
    @filter.llm_tool(name="mark_depth")
    async def mark_depth(self, event, place: str):
        """Write down how deep a place is.

        Args:
            place(string): A place.
        """
        with Path(__file__).with_name("marks.txt").open("a") as marks:
            marks.write(f"{place}\\n")
        return f"{place} is marked."
'''
"""A plugin with a tool that changes something; it may be called once for each place."""


def make(name: str) -> tuple[str, dict[str, object]]:
    return "create_subagent", {
        "name": name,
        "system_prompt": f"You are the {name}.",
        "tools": ["mark_depth"],
    }


def send(name: str) -> tuple[str, dict[str, object]]:
    return f"transfer_to_{name}", {"input": f"Measure, {name}.", "background_task": True}


SLOW = """
import asyncio
from astrbot.api.star import Star

class Slow(Star):
    def __init__(self, context):
        super().__init__(context)
        models = context.provider_manager
        begin = models.initialize

        async def late():
            await asyncio.sleep(1)
            await begin()

        models.initialize = late
"""
"""A plugin that keeps AstrBot from having any model for a while after it has loaded its plugins."""

WAIT = ("wait_for_subagent", {"subagent_name": list(PAIR)})


def a_root(path: Path, model_server: ScriptedModel) -> AstrBotRoot:
    root = AstrBotRoot(path=path, model_url=model_server.server.base_url, chat_adapter=False)
    root.write()
    root.install_plugin()
    root.add_plugin("test_tides", TIDES)
    root.add_plugin("test_slow", SLOW)
    return root


async def killed_in_the_middle(astrbot: AstrBotProcess, model: Script) -> str:
    """Kill the bot once both children have marked a place and the main agent waits; the chat."""
    chat = await astrbot.new_chat()
    model.main(calls(*map(make, PAIR)), calls(*map(send, PAIR)), call(*WAIT))
    for name in PAIR:
        model.child(name, call("mark_depth", {"place": name}), never())
    stream = astrbot.stream(chat, QUESTION)
    begun = [await anext(stream)]
    for name in PAIR:
        await model.reached(name, 2)
    async for event in stream:
        begun.append(event)
        if "wait_for_subagent" in json.dumps(event):
            break
    await astrbot.kill()
    return chat


async def test_children_are_taken_up_and_one_wake_up_answers_the_message(
    tmp_path: Path, model_server: ScriptedModel, model: Script
) -> None:
    root = a_root(tmp_path, model_server)

    async with running(root) as astrbot:
        chat = await killed_in_the_middle(astrbot, model)
        for name in PAIR:
            model.child(name, say(f"Result of the {name}."))
        model.main(say(ANSWER), say("You are welcome."), say("Nothing new."))
        await astrbot.start()
        shown = await astrbot.page_with(chat, ANSWER)
        asked = len(model.requests_of("main"))
        # answered once the turn before it is over
        await astrbot.say(chat, "thank you")
        await astrbot.kill()
        await astrbot.start()
        last = await astrbot.say(chat, "is there more?")
        log = astrbot.log

    assert asked == 4
    assert "\n".join(shown).count(ANSWER) == 1
    assert last.answer == "Nothing new."
    assert "Traceback" not in log
    nothing_was_done_twice(root, model)
    woken, *later = (each.last_user_text() for each in model.requests_of("main")[3:])
    for text in (QUESTION, *(f"Result of the {name}." for name in PAIR)):
        assert woken.count(text) == 1
        assert [text in each for each in later] == [False, False]
    assert [f"`transfer_to_{name}`" in woken for name in PAIR] == [True, True]


def nothing_was_done_twice(root: AstrBotRoot, model: Script) -> None:
    """Check that each child made its call once and knew of it when it was taken up."""
    marks = root.plugins / "test_tides" / "marks.txt"
    assert sorted(marks.read_text().split()) == sorted(PAIR)
    for name in PAIR:
        before, after = model.requests_of(name)[1:]
        assert tool_results(before) == tool_results(after) == [f"{name} is marked."]
