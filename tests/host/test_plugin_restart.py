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


@pytest.mark.parametrize("resumes", [True, False])
async def test_a_run_that_a_crash_cut_off_is_brought_to_its_owner_after_the_start(
    tmp_path: Path, model_server: ScriptedModel, model: Script, resumes: bool
) -> None:
    root = AstrBotRoot(path=tmp_path, model_url=model_server.server.base_url, chat_adapter=False)
    root.write()
    root.install_plugin({"resume_on_restart": resumes})
    model.main(call(*MAKE), call(*DIG_BEHIND), say("It digs."), say("So that is that."))
    model.child("digger", never(), *[say("The hole is 7 m deep.")] * resumes)

    async with running(root) as astrbot:
        chat = await astrbot.new_chat()
        await astrbot.say(chat, "dig")
        await model.reached("digger")
        await astrbot.kill()
        await astrbot.start()
        shown = await astrbot.page_with(chat, "So that is that.")
        log = astrbot.log

    assert shown == ["It digs.", "So that is that."]
    request = model.requests_of("main")[3]
    told = "The hole is 7 m deep." if resumes else "state: INTERRUPTED"
    assert told in request.last_user_text()
    assert "transfer_to_digger" in request.tool_names()
    assert "Traceback" not in log
