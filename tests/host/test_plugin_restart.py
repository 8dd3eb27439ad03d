"""The plugin in an AstrBot that is a process of its own, is killed at work and starts again."""

from pathlib import Path

import pytest

from support.astrbot_process import running
from support.astrbot_root import AstrBotRoot
from support.replies import call, never, say
from support.script import Script
from support.scripted_model import ScriptedModel

pytestmark = [pytest.mark.host, pytest.mark.asyncio(loop_scope="session")]

MAKE = ("create_subagent", {"name": "digger", "system_prompt": "Dig."})
DIG_BEHIND = ("transfer_to_digger", {"input": "Dig here.", "background_task": True})


async def test_a_run_that_a_crash_cut_off_is_told_to_its_owner_in_the_next_turn(
    tmp_path: Path, model_server: ScriptedModel, model: Script
) -> None:
    root = AstrBotRoot(path=tmp_path, model_url=model_server.server.base_url, chat_adapter=False)
    root.write()
    root.install_plugin()
    model.main(call(*MAKE), call(*DIG_BEHIND), say("It digs."), say("It was cut off."))
    model.child("digger", never())

    async with running(root) as astrbot:
        chat = await astrbot.new_chat()
        before = await astrbot.say(chat, "dig")
        await model.reached("digger")
        await astrbot.kill()
        await astrbot.start()
        after = await astrbot.say(chat, "and?")
        log = astrbot.log

    assert (before.answer, after.answer) == ("It digs.", "It was cut off.")
    request = model.requests_of("main")[3]
    assert "interrupted" in request.last_user_text()
    assert "transfer_to_digger" in request.tool_names()
    assert "Traceback" not in log
