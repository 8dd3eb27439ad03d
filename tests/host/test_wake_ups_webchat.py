"""Wake-up turns and messages of the bot's own accord in AstrBot's web chat, over its HTTP API."""

import asyncio
from pathlib import Path

import pytest

from standin.protocol import ChatReply, ChatRequest
from support.astrbot_process import AstrBotProcess, running
from support.astrbot_root import AstrBotRoot, HostSettings
from support.replies import Step, after, call, say
from support.script import Script
from support.scripted_model import ScriptedModel

pytestmark = [pytest.mark.host, pytest.mark.asyncio(loop_scope="session")]

MAKE = ("create_subagent", {"name": "digger", "system_prompt": "Dig."})
DIG = ("transfer_to_digger", {"input": "Dig here.", "background_task": True})


def opening(gate: asyncio.Event, step: ChatReply) -> Step:
    """Open a gate with the very answer that ends the turn."""

    def answer(_: ChatRequest) -> ChatReply:
        gate.set()
        return step

    return answer


async def later(astrbot: AstrBotProcess, model: Script) -> list[str]:
    """What the page shows of a result that comes after the turn."""
    gate = asyncio.Event()
    model.main(call(*MAKE), call(*DIG), say("It digs."))
    model.main(call("list_subagents"), say("The first hole is dug."))
    model.child("digger", after(gate, say("The hole is 7 m deep.")))
    chat = await astrbot.new_chat()
    await astrbot.say(chat, "dig")
    gate.set()
    return await astrbot.page_with(chat, "The first hole is dug.")


async def at_once(astrbot: AstrBotProcess, model: Script) -> list[str]:
    """What the page shows of a result that comes right behind the turn's answer."""
    gate = asyncio.Event()
    model.main(call(*MAKE), call(*DIG), opening(gate, say("It digs.")))
    model.main(say("The second hole is dug."))
    model.child("digger", after(gate, say("The hole is 8 m deep.")))
    chat = await astrbot.new_chat()
    turn = await astrbot.say(chat, "dig")
    assert turn.answer == "It digs."
    return await astrbot.page_with(chat, "The second hole is dug.")


async def asked(astrbot: AstrBotProcess, model: Script) -> list[str]:
    """What the page shows of a question that comes right behind the turn's answer."""
    gate = asyncio.Event()
    model.main(call(*MAKE), call(*DIG), opening(gate, say("It digs.")))
    model.main(say("The third hole is dug."))
    question = call("ask_question", {"question": "How deep?"})
    model.child("digger", after(gate, question), say("The hole is 9 m deep."))
    chat = await astrbot.new_chat()
    await astrbot.say(chat, "dig")
    await astrbot.page_with(chat, "How deep?")
    await astrbot.say(chat, "9 m")
    return await astrbot.page_with(chat, "The third hole is dug.")


@pytest.mark.parametrize("streaming", [False, True])
async def test_whatever_comes_behind_an_answer_is_on_the_page(
    tmp_path: Path, model_server: ScriptedModel, model: Script, streaming: bool
) -> None:
    root = AstrBotRoot(
        path=tmp_path,
        model_url=model_server.server.base_url,
        settings=HostSettings(streaming=streaming),
        chat_adapter=False,
    )
    root.write()
    root.install_plugin()

    async with running(root) as astrbot:
        first, second = await later(astrbot, model), await at_once(astrbot, model)
        third = await asked(astrbot, model)
        log = astrbot.log

    assert first == ["It digs.", "The first hole is dug."]
    assert second == ["It digs.", "The second hole is dug."]
    assert third[0] == "It digs."
    assert third[1].startswith("digger asks (task ")
    assert third[2:] == ["Thank you, digger goes on with your answer.", "The third hole is dug."]
    assert "Traceback" not in log
