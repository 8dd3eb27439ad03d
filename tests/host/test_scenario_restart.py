"""One sub-agent over three user turns and a crash: in its last task it refers to its first."""

import json
from pathlib import Path

import pytest

from standin.protocol import ChatReply, ChatRequest, message_text
from support.astrbot_process import running
from support.astrbot_root import AstrBotRoot
from support.replies import call, calls, never, say
from support.sample_plugins import WEATHER
from support.script import Script, tool_results
from support.scripted_model import ScriptedModel

pytestmark = [pytest.mark.host, pytest.mark.asyncio(loop_scope="session")]

MAKE = (
    "create_subagent",
    {"name": "digger", "system_prompt": "You dig.", "tools": ["get_weather"]},
)
KEEP = ("protect_subagent", {"name": "digger"})


def dig(task: str, *, behind: bool = False) -> tuple[str, dict[str, object]]:
    return "transfer_to_digger", {"input": task, "background_task": behind}


def refer_to_the_first(request: ChatRequest) -> ChatReply:
    """Answer from the first thing that this sub-agent was ever asked, and from its answer."""
    talk = [each for each in request.messages if each.get("role") in ("user", "assistant")]
    first, answer = (message_text(each).splitlines()[0] for each in talk[:2])
    return say(f"First you said: {first} And I said: {answer}")


def sound(request: ChatRequest) -> bool:
    """Whether every tool call of a conversation has its result right behind it."""
    open_calls: list[str] = []
    for message in request.messages:
        if message["role"] == "tool":
            open_calls.remove(message["tool_call_id"])
        else:
            assert open_calls == []
            open_calls = [each["id"] for each in message.get("tool_calls") or ()]
    return open_calls == []


async def test_a_sub_agent_refers_to_its_first_task_in_its_last(
    tmp_path: Path, model_server: ScriptedModel, model: Script
) -> None:
    root = AstrBotRoot(path=tmp_path, model_url=model_server.server.base_url, chat_adapter=False)
    root.write()
    root.install_plugin()
    root.add_plugin("test_weather", WEATHER)
    model.main(
        calls(MAKE, KEEP),
        call(*dig("The treasure lies under the heron's nest.")),
        say("It knows where."),
        call(*dig("Look at the sky.", behind=True)),
        say("It is looking."),
        say("The sky is clear, it says."),
        call(*dig("Where did I say the treasure lies?")),
        say("Under the heron's nest."),
    )
    model.child(
        "digger",
        say("I remember the nest."),
        call("get_weather", {"city": "Oslo"}),
        never(),
        say("I see a clear sky."),
        refer_to_the_first,
    )

    async with running(root) as astrbot:
        chat = await astrbot.new_chat()
        await astrbot.say(chat, "tell the digger")
        await astrbot.say(chat, "let it look")
        await model.reached("digger", 3)
        await astrbot.kill()
        await astrbot.start()
        await astrbot.page_with(chat, "The sky is clear, it says.")
        last = await astrbot.say(chat, "does it still know?")
        log = astrbot.log

    assert last.answer == "Under the heron's nest."
    woken = model.requests_of("main")[5]
    assert "I see a clear sky." in woken.last_user_text()
    assert (
        "First you said: The treasure lies under the heron's nest. And I said: I remember the nest."
    ) in tool_results(model.requests_of("main")[7])[-1]
    asked = model.requests_of("digger")[-1]
    assert sound(asked)
    # what the task had found out before it was cut off is remembered too
    assert "It is sunny in Oslo." in json.dumps(asked.messages)
    assert "Traceback" not in log
