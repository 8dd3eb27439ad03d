"""A child of another process's chat: it has what its home has told, and cannot reach the chat."""

import importlib
from dataclasses import replace
from typing import Any

import pytest

from astrbot_plugin_subagents.manager.host import AgentRequest
from astrbot_plugin_subagents.manager.models import Origin, RunId, SessionId
from support.astrbot_root import PROVIDER_ID
from support.child_stage import ChildStage, handle_of

pytestmark = [pytest.mark.host, pytest.mark.asyncio(loop_scope="session")]

PLUGIN = "astrbot_plugin_subagents.plugin."
ELSEWHERE = SessionId("telegram:GroupMessage:100")


async def test_a_chats_home_tells_its_model_its_platform_and_its_configuration(
    stage: ChildStage,
) -> None:
    async with stage.turn() as turn:
        event = handle_of(turn).event
        told = await of_plugin("home_facts").told_to_others(
            Origin(sender_id="ann"), event, stage.bot.context
        )
        event.set_extra("selected_provider", "picked")
        event.set_extra("selected_model", "large")
        picked = await of_plugin("home_facts").told_to_others(Origin(), event, stage.bot.context)

    assert told == Origin(
        sender_id="ann",
        platform=event.get_platform_name(),
        provider_id=PROVIDER_ID,
        profile="default",
    )
    assert (picked.provider_id, picked.model) == ("picked", "large")


async def test_what_the_home_has_and_this_process_has_not_is_named(stage: ChildStage) -> None:
    known = Origin(provider_id=PROVIDER_ID, profile="default", persona_id="default")

    assert stage.catalog.lacks(ELSEWHERE, known) == ()
    assert stage.catalog.lacks(ELSEWHERE, Origin()) == ()
    assert stage.catalog.lacks(
        ELSEWHERE, replace(known, provider_id="far", profile="theirs", persona_id="pirate")
    ) == ("the model far", "the chat's own configuration", "the persona pirate")


async def test_its_tools_find_the_platform_and_cannot_send_to_the_chat(stage: ChildStage) -> None:
    context = stage.bot.context
    request = AgentRequest(
        run_id=RunId("r1"),
        session=ELSEWHERE,
        agent=None,
        system_prompt="",
        prompt="Look.",
        origin=Origin(sender_id="ann", platform="telegram"),
        away=True,
    )
    event = of_plugin("child_event").make_child_event(
        request, context, context.get_config(umo=ELSEWHERE)
    )

    assert (event.get_platform_name(), event.get_platform_id()) == ("telegram", "telegram")
    assert event.get_sender_id() == "ann"
    with pytest.raises(
        of_plugin("chat_away").ChatAway, match="nothing can be sent to the chat from here"
    ):
        await event.send(event.plain_result("hello"))


async def test_without_a_turn_it_uses_the_model_that_its_home_has_told(stage: ChildStage) -> None:
    outcome, _ = await stage.drive(turn=None, origin=Origin(provider_id="far"))

    assert outcome.failure is not None
    assert outcome.failure.code == "provider_unavailable"
    assert "'far'" in outcome.failure.message


def of_plugin(module: str) -> Any:
    # Only now: AstrBot must not be imported before its root is set.
    return importlib.import_module(PLUGIN + module)
