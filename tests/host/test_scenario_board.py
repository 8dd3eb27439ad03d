"""Three sub-agents that need each other's findings and exchange them while all of them run.

The main agent posts a system note in between. Gates hold each child at each of its steps, so that
what a request carries is known to come from what had happened by then.
"""

import asyncio
import re
from typing import Any

import pytest

from standin.protocol import ChatReply, ChatRequest, message_text
from support.astrbot_host import Bot
from support.replies import after, call, calls, say
from support.script import Script, tool_results

pytestmark = [pytest.mark.host, pytest.mark.asyncio(loop_scope="session")]

FINDINGS = {
    "geologist": "the shaft is 12 deep",
    "chemist": "the ore is iron",
    "surveyor": "the river is near",
}
NOTE = "Write in capital letters."
FOUND = re.compile("|".join(FINDINGS.values()))


class Stages:
    """A gate before each step of each child."""

    def __init__(self, steps: int) -> None:
        self.gates = {name: [asyncio.Event() for _ in range(steps)] for name in FINDINGS}

    def open(self, name: str, step: int) -> None:
        self.gates[name][step].set()


def behind(name: str) -> tuple[str, dict[str, Any]]:
    return f"transfer_to_{name}", {"input": "Find out and exchange.", "background_task": True}


def make(name: str) -> tuple[str, dict[str, Any]]:
    arguments = {"name": name, "system_prompt": f"You are {name}.", "tools": ["get_weather"]}
    return "create_subagent", arguments


def post(name: str) -> ChatReply:
    arguments = {"context_type": "message", "content": FINDINGS[name]}
    return call("send_shared_context", arguments)


def news(model: Script, name: str, number: int) -> str:
    """What a child's request brought beyond the one before, tool results aside."""
    asked = model.requests_of(name)
    before = asked[number - 1].messages if number else []
    fresh = asked[number].messages[len(before) :]
    assert asked[number].messages[: len(before)] == before
    return "\n".join(message_text(each) for each in fresh if each.get("role") == "user")


def has(request: ChatRequest, text: str) -> bool:
    return any(text in message_text(each) for each in request.messages)


def conclude(request: ChatRequest) -> ChatReply:
    """Join all that the others found, in the way the main agent wants it."""
    users = [message_text(each) for each in request.messages if each.get("role") == "user"]
    text = "I learned: " + ", ".join(sorted(FOUND.findall("\n".join(users))))
    orders = [each.partition("<<board")[0] for each in users]
    return say(text.upper() if any(NOTE in order for order in orders) else text)


async def test_findings_go_round_while_all_run_and_the_main_agents_note_reaches_all(
    bot: Bot, model: Script, weather: Any
) -> None:
    stages, posting = Stages(2), asyncio.Event()
    note = {"context_type": "system", "content": NOTE}
    model.main(
        calls(*map(make, FINDINGS)),
        calls(*map(behind, FINDINGS)),
        after(posting, call("send_shared_context_for_main_agent", note)),
        call("wait_for_subagent", {"subagent_name": list(FINDINGS)}),
        say("All have concluded."),
    )
    for name, (first, second) in stages.gates.items():
        look = call("get_weather", {"city": "Oslo"})
        model.child(name, after(first, post(name)), after(second, look), conclude)

    running = bot.post("find out")
    for name in FINDINGS:
        await model.reached(name)
    for name in FINDINGS:
        stages.open(name, 0)
        await model.reached(name, 2)
    posting.set()
    await model.reached("main", 4)
    told_too_early = [r for name in FINDINGS for r in model.requests_of(name) if has(r, NOTE)]
    for name in FINDINGS:
        stages.open(name, 1)
        await model.reached(name, 3)
    turn = await running.done()

    assert turn.answer == "All have concluded."
    assert told_too_early == []
    depth, ore, river = FINDINGS.values()
    assert [FOUND.findall(news(model, name, 0)) for name in FINDINGS] == [[], [], []]
    assert [FOUND.findall(news(model, name, 1)) for name in FINDINGS] == [[], [depth], [depth, ore]]
    assert [FOUND.findall(news(model, name, 2)) for name in FINDINGS] == [[ore, river], [river], []]
    for name in FINDINGS:
        outside = news(model, name, 2).partition("<<board")[0]
        assert f"main -> all: {NOTE}" in outside
        assert "to be followed" in outside
    waited = tool_results(model.requests_of("main")[4])[-1]
    for name, finding in FINDINGS.items():
        others = ", ".join(sorted(each for each in FINDINGS.values() if each != finding))
        assert f"sub-agent: {name}" in waited
        assert f"I learned: {others}".upper() in waited
    assert bot.errors == []
