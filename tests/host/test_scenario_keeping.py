"""Several sub-agents made in one turn, some of them protected: who is there in the next turn."""

from typing import Any

import pytest

from standin.protocol import ChatReply, ChatRequest, message_text
from support.astrbot_host import Bot
from support.plugin_events import plugin_events
from support.replies import call, calls, say
from support.script import Script, tool_results

pytestmark = [pytest.mark.host, pytest.mark.asyncio(loop_scope="session")]

NAMES = ("reader", "writer", "critic")
KEPT = ("reader", "critic")


def make(name: str) -> tuple[str, dict[str, Any]]:
    return "create_subagent", {"name": name, "system_prompt": f"You are the {name} here."}


def give(name: str, task: str) -> tuple[str, dict[str, Any]]:
    return f"transfer_to_{name}", {"input": task}


def tell_memory(request: ChatRequest) -> ChatReply:
    """Answer with all user messages of the conversation, the earliest first."""
    users = [each for each in request.messages if each.get("role") == "user"]
    return say("I was asked: " + " | ".join(message_text(each).split("\n")[0] for each in users))


def transfers(request: ChatRequest) -> list[str]:
    return sorted(name for name in request.tool_names() if name.startswith("transfer_to_"))


@pytest.mark.parametrize("schema_mode", ["full", "skills_like"])
async def test_the_next_turn_has_only_the_protected_ones_and_they_remember(
    bot: Bot, model: Script, schema_mode: Any
) -> None:
    await bot.configure(tool_schema_mode=schema_mode)
    model.main(
        calls(*(make(name) for name in NAMES)),
        calls(*(give(name, f"The {name}'s word is {name.upper()}.") for name in NAMES)),
        calls(*(("protect_subagent", {"name": name}) for name in KEPT)),
        say("All three know their words."),
        calls(*(give(name, "Which word?") for name in KEPT)),
        calls(("list_subagents", {}), ("transfer_to_writer", {"input": "Which word?"})),
        say("Two of them know."),
    )
    for name in NAMES:
        model.child(name, say("I keep it in mind."), then=tell_memory)

    with plugin_events(bot) as events:
        await bot.say("make three and keep two")
        await events.first(lambda each: type(each).__name__ == "AgentRemoved")
    turn = await bot.say("what do they know?")

    requests = model.requests_of("main")
    assert turn.answer == "Two of them know."
    assert transfers(requests[1]) == [f"transfer_to_{name}" for name in sorted(NAMES)]
    assert transfers(requests[4]) == [f"transfer_to_{name}" for name in sorted(KEPT)]
    told = tool_results(requests[5])[-2:]
    for name, result in zip(KEPT, told, strict=True):
        assert f"I was asked: The {name}'s word is {name.upper()}. | Which word?" in result
    listed, refused = tool_results(requests[6])[-2:]
    assert "writer" not in listed
    assert all(f"{name} (dynamic, protected)" in listed for name in KEPT)
    assert "not found" in refused
    assert "Sub-agents that exist now:" in requests[4].last_user_text()
    assert "writer" not in requests[4].last_user_text()


async def test_one_that_was_not_kept_can_be_made_anew_and_knows_nothing(
    bot: Bot, model: Script
) -> None:
    model.main(
        call(*make("writer")),
        call(*give("writer", "The word is HERON.")),
        say("It knows."),
        call(*make("writer")),
        call(*give("writer", "Which word?")),
        say("It does not know."),
    )
    model.child("writer", say("I keep it in mind."), then=tell_memory)

    with plugin_events(bot) as events:
        await bot.say("make one")
        await events.first(lambda each: type(each).__name__ == "AgentRemoved")
    await bot.say("make it again")

    answer = tool_results(model.requests_of("main")[-1])[-1]
    assert "I was asked: Which word?" in answer
    assert "HERON" not in answer
