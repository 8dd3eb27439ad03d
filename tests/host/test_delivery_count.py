"""Two hundred background tasks with every kind of end, while all users chat: nothing is lost.

The model has no script here but rules: it answers each request from what stands in it.
"""

import asyncio
import random
import re
from collections import Counter
from typing import Any

import pytest

from standin.protocol import ChatReply, ChatRequest, message_text
from support.astrbot_host import Bot
from support.host_agents import plugin_config
from support.plugin_events import PluginEvents, plugin_events
from support.replies import calls, fail, never, play, say
from support.script import Script, said

pytestmark = [pytest.mark.host, pytest.mark.asyncio(loop_scope="session")]

CHATS = 20
WRITE_AT_ONCE, AT_WORK = 4, 12
"""Users and tasks; AstrBot 4.26 breaks off when much more at once reads its own database."""
TASKS_AT_ONCE = 5
TASKS = CHATS * 2 * TASKS_AT_ONCE
SEED = 7
ENDS = ("completed", "completed", "failed", "cancelled", "timed_out")
WORDS = ("do", "hello", "do", "hello", "hello", "bye", "bye")
"""What each user writes."""
WOKEN = "[Sub-agents] Background tasks are over"
NEWS = "[Sub-agents: news"
_BLOCK = re.compile(r"^task: (\S+)\ntask_id: \w+\n[^\n]*\nstate: ([A-Za-z ]+)", re.MULTILINE)


class Rules:
    """What main agents and copies answer, and what results the main agents have seen."""

    def __init__(self) -> None:
        self._random = random.Random(SEED)
        self.seen: set[tuple[str, str, str, int]] = set()
        """Each result as it was told: the task, its state, the chat, and its turn there."""
        self.to_cancel: asyncio.Queue[str] = asyncio.Queue()
        """Tasks that wait for their user to stop them."""

    def main(self, request: ChatRequest) -> ChatReply:
        """Start tasks where the user asks for some; else only answer."""
        told = [each for each in request.messages if each["role"] == "user"]
        own = [each for each in told if not message_text(each).startswith(NEWS)]
        text = message_text(own[-1])
        chat = re.findall(r"(?:do|hello|bye) (\d+)-", "\n".join(map(message_text, own)))[0]
        for message in told[told.index(own[-1]) :]:
            for task, state in _BLOCK.findall(message_text(message)):
                self.seen.add((task, state.lower().replace(" ", "_"), chat, len(own)))
        if text.startswith(WOKEN):
            return say(f"Woken {len(own)}.")
        wanted = re.match(r"\w+ [\d-]+", text)
        assert wanted, text
        if text.startswith("do ") and request.messages[-1] is own[-1]:
            return calls(*(self._task(f"{wanted[0][3:]}-{number}") for number in _NUMBERS))
        return say(f"Heard {wanted[0]}.")

    def _task(self, name: str) -> tuple[str, dict[str, Any]]:
        end = self._random.choice(ENDS)
        tasks = [{"id": name, "task": f"Carry out {name} until {end}."}]
        return "task", {"tasks": tasks, "background_task": True}

    async def copy(self, request: ChatRequest) -> ChatReply:
        """End a task as its text says."""
        found = re.search(r"Carry out (\S+) until (\w+)", request.last_user_text())
        assert found
        if found[2] == "completed":
            return ChatReply(text="Done.", delay_seconds=self._random.uniform(0, 0.5))
        if found[2] == "failed":
            return fail(401)
        if found[2] == "cancelled":
            self.to_cancel.put_nowait(found[1])
        return await play(never(), request)


_NUMBERS = range(TASKS_AT_ONCE)


async def chat(bot: Bot, number: int, places: asyncio.Semaphore) -> list[str]:
    """Write as the user of one chat; the answers."""
    texts = (f"{word} {number}-{index}" for index, word in enumerate(WORDS[:5]))
    async with places:
        return [(await bot.say(text, session=f"count_{number}")).answer for text in texts]


async def stop_some(bot: Bot, rules: Rules, events: PluginEvents) -> None:
    """Stop tasks as their users do."""
    while True:
        name = await rules.to_cancel.get()
        ids = (each.run.run_id for each in events.all if _task_of(each) == name)
        session = f"count_{name.partition('-')[0]}"
        await bot.say(f"/subagents stop {next(ids)}", session=session)


def _task_of(happened: Any) -> str | None:
    run = getattr(happened, "run", None)
    return run.task.label if run is not None and run.task is not None else None


async def test_every_result_is_told_once_and_no_message_is_lost(bot: Bot, model: Script) -> None:
    rules = Rules()
    model.role("copy", said("Carry out "), then=rules.copy)
    model.main(then=rules.main)

    async with plugin_config(bot, execution_timeout=1.0, max_parallel_total=AT_WORK):
        with plugin_events(bot) as events:
            stopping = asyncio.create_task(stop_some(bot, rules, events))
            places = asyncio.Semaphore(WRITE_AT_ONCE)
            answers = await asyncio.gather(*(chat(bot, n, places) for n in range(CHATS)))
            runs = await events.runs_over(TASKS)
            for index in (5, 6):
                for number in range(CHATS):
                    await bot.say(f"bye {number}-{index}", session=f"count_{number}")
            stopping.cancel()

    ended = {run.task.label: run.state.value for run in runs}
    assert len(ended) == TASKS
    assert set(ended.values()) == set(ENDS)
    assert Counter((task, state) for task, state, _, _ in rules.seen) == Counter(ended.items())
    for task, _, where, _ in rules.seen:
        assert task.startswith(f"{where}-")
    for number, heard in enumerate(answers):
        history = [message_text(each) for each in await bot.history(f"count_{number}")]
        texts = [f"{word} {number}-{index}" for index, word in enumerate(WORDS)]
        assert heard == [f"Heard {text}." for text in texts[:5]]
        users = [each.splitlines()[0] for each in history if each.startswith(WORDS)]
        assert users == texts
        assert [each for each in history if each.startswith("Heard ")] == [
            f"Heard {text}." for text in texts
        ]
        woken = [each for each in history if each.startswith("Woken ")]
        mail = [each.text for each in await bot.mail(0, session=f"count_{number}")]
        assert [each for each in mail if each.startswith("Woken ")] == woken
    assert bot.errors == []
