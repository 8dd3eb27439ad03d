"""Whom a child acts for, what other plugins see of it, and the turn that it must not disturb."""

import asyncio
import importlib
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from astrbot_plugin_subagents.manager.host import AgentOutcome, ToolScope
from astrbot_plugin_subagents.manager.models import Origin, SessionId
from support.astrbot_root import ADAPTER_TYPE, ADMIN
from support.child_stage import ChildStage, handle_of
from support.replies import call, calls, say

pytestmark = [pytest.mark.host, pytest.mark.asyncio(loop_scope="session")]


@pytest_asyncio.fixture(loop_scope="session")
async def admin_tool(stage: ChildStage) -> AsyncIterator[ToolScope]:
    """Make `admin_only` a tool for admins, as the WebUI does."""
    preferences = importlib.import_module("astrbot.core").sp
    await preferences.global_put("tool_permissions", {"_default": {"admin_only": "admin"}})
    yield ToolScope(assigned=("admin_only",))
    await preferences.global_put("tool_permissions", {})


@pytest.mark.parametrize("with_turn", [True, False])
async def test_an_admin_tool_is_refused_to_a_members_child(
    stage: ChildStage, admin_tool: ToolScope, with_turn: bool
) -> None:
    result = await _call_admin_tool(stage, admin_tool, sender="alice", with_turn=with_turn)

    assert result.is_error
    assert "Permission denied" in result.output
    assert stage.plugin.calls == []


@pytest.mark.parametrize("with_turn", [True, False])
async def test_an_admin_tool_is_open_to_an_admins_child(
    stage: ChildStage, admin_tool: ToolScope, with_turn: bool
) -> None:
    result = await _call_admin_tool(stage, admin_tool, sender=ADMIN, with_turn=with_turn)

    assert (result.is_error, result.output) == (False, "done as admin")


async def test_a_members_agent_stays_a_members_in_an_admins_turn(
    stage: ChildStage, admin_tool: ToolScope
) -> None:
    result = await _call_admin_tool(
        stage, admin_tool, sender=ADMIN, with_turn=True, member_rights=True
    )

    assert result.is_error
    assert stage.plugin.calls == []


async def test_a_tool_that_the_main_agent_has_unguarded_is_guarded_for_a_child(
    stage: ChildStage, admin_tool: ToolScope
) -> None:
    async with stage.turn() as turn:
        handle = handle_of(turn)
        raw = stage.bot.context.get_llm_tool_manager().get_func("admin_only")
        handle.main_tools.remove_tool("admin_only")
        handle.main_tools.add_tool(raw)
        _, seen = await stage.drive(call("admin_only"), say("no"), tools=admin_tool, turn=turn)

    assert seen.told("tool_finished")[0].is_error
    assert stage.plugin.calls == []


async def test_who_is_an_admin_is_looked_up_when_the_child_starts(stage: ChildStage) -> None:
    async with stage.turn(sender=ADMIN) as turn:
        await stage.bot.configure(extra={"admins_id": ["somebody"]})
        await stage.drive(call("search"), say("ok"), turn=turn, origin=Origin(sender_id=ADMIN))

    assert stage.plugin.calls == [(ADMIN, "member", "")]


async def test_other_plugins_hooks_see_a_childs_tool_calls(stage: ChildStage) -> None:
    await stage.drive(call("search", {"text": "moon"}), say("ok"))

    assert stage.plugin.hooks == [
        ("before", "search", {"text": "moon"}),
        ("behind", "search", "found moon"),
    ]


async def test_a_hook_that_stops_the_event_stops_the_child_before_its_tool(
    stage: ChildStage,
) -> None:
    async with stage.turn() as turn:
        outcome, seen = await stage.drive(call("search", {"text": "veto"}), turn=turn)
        stopped = handle_of(turn).event.is_stopped()

    assert outcome.failure is not None
    assert outcome.failure.code == "stopped_by_plugin"
    assert [each.is_error for each in seen.told("tool_finished")] == [True]
    assert (stage.plugin.calls, stopped) == ([], False)


async def test_a_decorated_tool_gets_the_childs_event(stage: ChildStage) -> None:
    _, seen = await stage.drive(
        call("decorated", {"text": "hi", "extra": 1}),
        say("ok"),
        tools=ToolScope(assigned=("decorated",)),
    )

    (result,) = seen.told("tool_finished")
    assert (result.output, result.is_error) == ("alice says hi", False)


async def test_what_a_child_does_to_its_event_is_not_done_to_the_turns(stage: ChildStage) -> None:
    scope = ToolScope(assigned=("meddle",))
    async with stage.turn() as turn:
        event = handle_of(turn).event
        request = event.get_extra("provider_request")
        outcome, _ = await stage.drive(call("meddle"), say("ok"), tools=scope, turn=turn)
        stopped, _ = await stage.drive(call("meddle", {"text": "stop"}), tools=scope, turn=turn)

        assert event.get_result() is None
        assert not event.is_stopped()
        assert event.get_extra("meddled") is None
        assert event.get_extra("provider_request") is request
        assert event.message_str == event.message_obj.message_str == "a turn of alice"

    assert outcome == AgentOutcome(text="ok")
    assert stopped.failure is not None
    assert (await asyncio.shield(event.turn)).answer == "the answer"


async def test_a_tool_reaches_the_chat_while_the_turn_lives(stage: ChildStage) -> None:
    async with stage.turn() as turn:
        await _tell(stage, turn=turn)
        sent = [each.text for each in handle_of(turn).event.sent]

    assert sent == ["hello"]


async def test_a_tool_reaches_the_chat_when_the_turn_is_over(stage: ChildStage) -> None:
    async with stage.turn() as turn:
        pass
    handle_of(turn).over = True

    await _tell(stage, turn=turn)

    assert [each.text for each in await stage.bot.mail()] == ["hello"]


async def test_a_tool_reaches_the_chat_after_a_restart(stage: ChildStage) -> None:
    await _tell(stage)

    assert [each.text for each in await stage.bot.mail()] == ["hello"]


async def test_after_a_restart_the_event_is_that_of_the_asker(stage: ChildStage) -> None:
    module = importlib.import_module("astrbot_plugin_subagents.plugin.child_event")
    session = SessionId(stage.bot.umo(group="group1"))
    request = stage.request(
        session=session, origin=Origin(sender_id=ADMIN, sender_name="Ada", group_id="group1")
    )
    context = stage.bot.context

    event = module.make_child_event(request, context, context.get_config(umo=session))

    assert event.unified_msg_origin == session
    assert (event.get_sender_id(), event.get_sender_name()) == (ADMIN, "Ada")
    assert event.get_group_id() == "group1"
    assert not event.is_private_chat()
    assert event.get_platform_name() == ADAPTER_TYPE
    assert event.is_admin()
    assert event.message_str == "the task"


async def test_no_hook_takes_a_child_for_the_main_agent(stage: ChildStage) -> None:
    source = """
from astrbot.api.event import filter
from astrbot.api.star import Star

class Watch(Star):
    async def initialize(self):
        self.seen = []

    @filter.on_agent_begin()
    async def begin(self, event, run_context):
        self.seen.append("begin")

    @filter.on_llm_response()
    async def response(self, event, response):
        self.seen.append("response")

    @filter.on_agent_done()
    async def done(self, event, run_context, response):
        self.seen.append("done")
"""
    watch = await stage.bot.plugins.add("test_watch", source)

    await stage.drive(call("search"), say("ok"))
    await stage.bot.plugins.uninstall("test_watch")

    assert watch.seen == []


async def _tell(stage: ChildStage, **changes: Any) -> None:
    scope = ToolScope(assigned=("tell",))
    await stage.drive(call("tell", {"text": "hello"}), say("told"), tools=scope, **changes)


async def _call_admin_tool(
    stage: ChildStage, scope: ToolScope, *, sender: str, with_turn: bool, **changes: Any
) -> Any:
    steps = (calls(("admin_only", {})), say("ok"))
    changes |= {"tools": scope, "origin": Origin(sender_id=sender)}
    if not with_turn:
        _, seen = await stage.drive(*steps, **changes)
    else:
        async with stage.turn(sender=sender) as turn:
            _, seen = await stage.drive(*steps, turn=turn, **changes)
    return seen.told("tool_finished")[0]
