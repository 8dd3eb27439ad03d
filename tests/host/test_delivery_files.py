"""Images and files that a sub-agent made travel with its result to the chat."""

import asyncio
import base64
from pathlib import Path
from typing import Any

import pytest

from support.astrbot_host import Bot
from support.chat_trouble import refusing
from support.host_agents import plugin_config
from support.plugin_events import plugin_events
from support.replies import after, call, say
from support.script import Script
from support.turn import Sent

pytestmark = [pytest.mark.host, pytest.mark.asyncio(loop_scope="session")]

PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGA"
    "hKmMIQAAAABJRU5ErkJggg=="
)
"""A picture of one point, in base64."""
TEXT = base64.b64encode(b"7 m").decode()

PAINTER = f"""
from astrbot.api import FunctionTool
from astrbot.api.star import Star
from mcp.types import (
    BlobResourceContents, CallToolResult, EmbeddedResource, ImageContent, TextContent
)

class Paint(FunctionTool):
    def __init__(self):
        super().__init__(
            name="paint",
            description="Paint a picture and write a note.",
            parameters={{"type": "object", "properties": {{}}}},
        )

    async def call(self, context):
        note = BlobResourceContents(uri="file:///depth.txt", mimeType="text/plain", blob="{TEXT}")
        return CallToolResult(content=[
            TextContent(type="text", text="Painted."),
            ImageContent(type="image", data="{PIXEL}", mimeType="image/png"),
            EmbeddedResource(type="resource", resource=note),
        ])

class Painter(Star):
    async def initialize(self):
        self.context.add_llm_tools(Paint())
"""
MAKE = ("create_subagent", {"name": "digger", "system_prompt": "Dig.", "tools": ["paint"]})
DIG = ("transfer_to_digger", {"input": "Dig here.", "background_task": True})


async def painted(bot: Bot, model: Script, mails: int) -> list[Sent]:
    """Play a turn whose background task paints, and what the chat is sent on its own then."""
    await bot.plugins.add("test_painter", PAINTER)
    gate = asyncio.Event()
    model.main(call(*MAKE), call(*DIG), say("It digs."), then=say("Here it is."))
    model.child("digger", call("paint"), after(gate, say("The hole is 7 m deep.")))
    with plugin_events(bot) as events:
        await bot.say("dig and paint")
        await events.turns_over(1)
        gate.set()
        mail = await bot.mail(mails)
    await bot.plugins.uninstall("test_painter")
    return mail


def made(sent: Sent) -> list[bytes]:
    """The contents of the files and images of a message."""
    paths = [_path(each) for each in sent.chain if type(each).__name__ in ("Image", "File")]
    return [path.read_bytes() for path in paths]


def _path(component: Any) -> Path:
    where = getattr(component, "file_", "") or component.file
    return Path(str(where).removeprefix("file://"))


async def test_files_are_sent_behind_the_answer_of_the_wake_up(bot: Bot, model: Script) -> None:
    answer, files = await painted(bot, model, 2)

    assert answer.text == "Here it is."
    assert made(files) == [base64.b64decode(PIXEL), b"7 m"]
    woken = model.requests_of("main")[-1].last_user_text()
    assert "are sent to the user behind your answer" in str(model.requests_of("main")[-1].messages)
    assert "depth" in woken


def is_file(sent: Sent) -> bool:
    """Whether a message has files or images."""
    return any(type(each).__name__ in ("Image", "File") for each in sent.chain)


@pytest.mark.parametrize("refusals", [0, 1])
async def test_files_are_sent_behind_the_plain_message_and_hold_it_up_by_nothing(
    bot: Bot, model: Script, refusals: int
) -> None:
    async with plugin_config(bot, delivery={"mode": "relay"}):
        with refusing(bot, is_file, times=refusals) as refused:
            message, files = await painted(bot, model, 2)

    assert len(refused) == refusals
    assert "The hole is 7 m deep." in message.text
    assert made(message) == []
    assert made(files) == [base64.b64decode(PIXEL), b"7 m"]
    assert len(model.requests_of("main")) == 3
    bot.errors.clear()
