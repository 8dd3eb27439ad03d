"""The harness itself: an AstrBot in a process of its own is spoken to, killed and started again."""

import asyncio
from pathlib import Path

import aiohttp
import pytest

from support.astrbot_process import running
from support.astrbot_root import AstrBotRoot
from support.replies import never, say
from support.script import Script
from support.scripted_model import ScriptedModel

pytestmark = [pytest.mark.host, pytest.mark.asyncio(loop_scope="session")]


async def test_a_killed_astrbot_starts_again_with_its_chats(
    tmp_path: Path, model_server: ScriptedModel, model: Script
) -> None:
    root = AstrBotRoot(path=tmp_path, model_url=model_server.server.base_url, chat_adapter=False)
    root.write()
    model.main(say("Hello."), never(), say("Here I am again."))

    async with running(root) as astrbot:
        chat = await astrbot.new_chat()
        assert (await astrbot.say(chat, "hello")).answer == "Hello."

        hanging = asyncio.create_task(astrbot.say(chat, "work for long"))
        await model.reached("main", 2)
        await astrbot.kill()
        with pytest.raises(aiohttp.ClientError):
            await hanging

        await astrbot.start()
        assert (await astrbot.say(chat, "are you there?")).answer == "Here I am again."

    texts = [message.get("content") for message in model.requests_of("main")[2].messages]
    assert any("Hello." in str(each) for each in texts)
