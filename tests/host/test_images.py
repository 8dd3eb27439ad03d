"""Images that the main agent of a real AstrBot hands to a sub-agent."""

import asyncio
import base64
import re
from pathlib import Path
from typing import Any

import pytest

from standin.protocol import ChatReply, ChatRequest
from support.astrbot_host import Bot, PendingTurn
from support.host_agents import plugin_config
from support.replies import Step, after, call, calls, say
from support.script import Script, tool_results

pytestmark = [pytest.mark.host, pytest.mark.asyncio(loop_scope="session")]

PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGA"
    "hKmMIQAAAABJRU5ErkJggg=="
)
"""A picture of one point, in base64."""
MAKE = ("create_subagent", {"name": "viewer", "system_prompt": "You look at pictures."})


def post_picture(bot: Bot, picture: Path) -> PendingTurn:
    """A user's message with a picture that lies where no model may read by itself."""
    from astrbot.api.message_components import Image

    picture.write_bytes(base64.b64decode(PIXEL))
    pending = bot.post("What is this?")
    pending.event.message_obj.message.append(Image.fromFileSystem(str(picture)))
    return pending


def look(images: list[str] | None = None, **more: Any) -> Step:
    """Hand these images to the sub-agent, or else the one that AstrBot told the model of."""

    def step(request: ChatRequest) -> ChatReply:
        told = re.findall(r"(?<=path )/[^\];\n\"]+\.\w+", str(request.messages))
        wanted = told[:1] if images is None else images
        return call("transfer_to_viewer", {"input": "Look.", "image_urls": wanted, **more})

    return step


def pictures(request: ChatRequest) -> list[bytes]:
    """The images in the messages of a request."""
    return [
        base64.b64decode(part["image_url"]["url"].partition(",")[2])
        for message in request.messages
        if isinstance(message["content"], list)
        for part in message["content"]
        if part["type"] == "image_url"
    ]


def kept(bot: Bot) -> list[Path]:
    """The images that the plugin holds for chats of this test."""
    return sorted(bot.root.data.rglob(f"*{bot.session[:20]}*/_images/*"))


async def test_a_picture_of_the_message_is_handed_on_by_the_path_that_the_model_was_told(
    bot: Bot, model: Script, tmp_path: Path
) -> None:
    model.main(call(*MAKE), look(), say("A point."))
    model.child("viewer", say("I see a point."))

    turn = await post_picture(bot, tmp_path / "point.png").done()

    assert turn.answer == "A point."
    (copy,) = kept(bot)
    assert pictures(model.requests_of("viewer")[0]) == [copy.read_bytes()]
    assert "I see a point." in tool_results(model.requests_of("main")[2])[-1]


async def test_a_picture_is_there_for_a_run_that_starts_after_the_turn(
    bot: Bot, model: Script, tmp_path: Path
) -> None:
    gate = asyncio.Event()
    model.main(
        call(*MAKE),
        call("transfer_to_viewer", {"input": "Wait.", "background_task": True}),
        look(background_task=True),
        say("Later."),
    )
    model.child("viewer", after(gate, say("I waited.")), say("I see a point."))

    # so that no wake-up takes answers of the script
    async with plugin_config(bot, delivery={"mode": "relay"}):
        await post_picture(bot, tmp_path / "point.png").done()
        (tmp_path / "point.png").unlink()
        gate.set()
        request = await model.reached("viewer", 2)
        await bot.mail(2)

    assert pictures(request) == [kept(bot)[0].read_bytes()]


async def test_inline_images_and_files_in_the_temporary_folder_are_handed_on(
    bot: Bot, model: Script
) -> None:
    picture = base64.b64decode(PIXEL)
    file = bot.root.data / "temp" / "drawn"
    file.write_bytes(picture)
    images = [str(file), f"base64://{PIXEL}", f"data:image/png;base64,{PIXEL}"]
    model.main(call(*MAKE), look(images), say("A point."))
    model.child("viewer", say("I see a point."))

    await bot.say("look")

    assert pictures(model.requests_of("viewer")[0]) == [picture]


async def test_other_files_and_addresses_are_refused_before_anything_starts(
    bot: Bot, model: Script, tmp_path: Path
) -> None:
    secret = tmp_path / "secret.png"
    secret.write_bytes(base64.b64decode(PIXEL))
    bad = [
        str(secret),
        f"{bot.root.data}/temp/../cmd_config.json",
        str(bot.root.data / "cmd_config.json"),
        f"{bot.root.model_url}/models?key=secret",
        "http://169.254.169.254/latest/meta-data",
    ]
    handed = [{"input": "Look.", "image_urls": [f"base64://{PIXEL}", each]} for each in bad]
    model.main(call(*MAKE), calls(*(("transfer_to_viewer", each) for each in handed)), say("No."))

    await bot.say("look")

    refusals = tool_results(model.requests_of("main")[2])[1:]
    assert len(refusals) == len(bad)
    assert all("image_urls" in each and "allowed" in each for each in refusals)
    assert "key=secret" not in "".join(refusals)
    assert model.requests_of("viewer") == []
    assert kept(bot) == []
