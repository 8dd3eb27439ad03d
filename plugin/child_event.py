"""The chat event of a child's tools: the turn's own in what they read, apart in what they write.

A child must never disturb the turn that asked for it, so it works on a light copy; when that turn
is gone, after a restart, on one rebuilt from what the run has kept. Rights are looked up now.
"""

import copy
from collections.abc import Mapping
from typing import Any

from astrbot.api.event import AstrMessageEvent, MessageChain
from astrbot.api.platform import MessageMember, PlatformMetadata
from astrbot.api.star import Context
from astrbot.core.cron.events import CronMessageEvent
from astrbot.core.platform.message_session import MessageSession

from ..manager.host import AgentRequest
from .chat_away import platform_of, refuse_to_send
from .turn_handle import TurnHandle

RUN_ID = "astrbot_plugin_subagents.run_id"
"""The extra by which other plugins' hooks know of which run a child's tool call is."""

_OF_THE_TURN = frozenset({"agent_stop_requested", "agent_user_aborted"})
"""Extras by which AstrBot stops the main agent of a turn; the core stops its children itself."""


def make_child_event(
    request: AgentRequest, context: Context, config: Mapping[str, Any]
) -> AstrMessageEvent:
    """Make the event for one child.

    Args:
        request: The child.
        context: AstrBot's context for plugins.
        config: AstrBot's configuration of the child's chat.
    """
    handle = handle_of(request)
    event = _copied(handle, context) if handle else _rebuilt(request, context, config)
    event.role = _role(request, event, config)
    event.set_extra(RUN_ID, request.run_id)
    return event


def handle_of(request: AgentRequest) -> TurnHandle | None:
    """The living turn that asked for the child, as AstrBot sees it."""
    handle = request.turn.handle if request.turn is not None else None
    return handle if isinstance(handle, TurnHandle) else None


def is_admin_id(user_id: str, config: Mapping[str, Any]) -> bool:
    """Whether a chat user is in the bot's list of admins."""
    admins = config.get("admins_id")
    # As AstrBot compares them in core/pipeline/waking_check/stage.py: ids may be numbers there.
    return bool(user_id) and isinstance(admins, list) and user_id in map(str, admins)


def _role(request: AgentRequest, event: AstrMessageEvent, config: Mapping[str, Any]) -> str:
    user_id = request.origin.sender_id or event.get_sender_id()
    return "admin" if not request.member_rights and is_admin_id(user_id, config) else "member"


def _copied(handle: TurnHandle, context: Context) -> AstrMessageEvent:
    event = copy.copy(handle.event)
    event.message_obj = copy.copy(event.message_obj)
    event.session = copy.copy(event.session)
    extras = {key: value for key, value in event.get_extra().items() if key not in _OF_THE_TURN}
    # AstrBot offers no way to give an event a state of its own; these are its fields for what a
    # tool or a hook may write (core/platform/astr_message_event.py).
    vars(event).update(
        _extras=extras,
        _result=None,
        _force_stopped=False,
        _has_send_oper=False,
        _temporary_local_files=[],
        send=_Sender(event, handle, context),
    )
    return event


class _Sender:
    """Sends to the chat, by the event's own way while its turn lives and by the session's after it.

    Some adapters tie an event to an answer that is open only as long as the turn.
    """

    def __init__(self, event: AstrMessageEvent, handle: TurnHandle, context: Context) -> None:
        self._send = event.send
        self._session = event.session
        self._handle = handle
        self._context = context

    async def __call__(self, message: MessageChain) -> None:
        if self._handle.over:
            await self._context.send_message(self._session, message)
        else:
            await self._send(message)


def _rebuilt(
    request: AgentRequest, context: Context, config: Mapping[str, Any]
) -> AstrMessageEvent:
    session = MessageSession.from_str(request.session)
    origin = request.origin
    event = CronMessageEvent(
        context=context,
        session=session,
        message=request.prompt,
        message_type=session.message_type,
    )
    event.message_obj.sender = MessageMember(
        user_id=origin.sender_id, nickname=origin.sender_name or origin.sender_id
    )
    if origin.group_id:
        event.message_obj.group_id = origin.group_id
    known = platform_of(session, origin) if request.away else _platform(session, context)
    event.platform_meta = event.platform = known or event.platform_meta
    if request.away:
        vars(event)["send"] = refuse_to_send
    plugins = config.get("plugin_set", ["*"])
    event.plugins_name = None if plugins == ["*"] else plugins
    return event


def _platform(session: MessageSession, context: Context) -> PlatformMetadata | None:
    # Tools ask the event which platform it is from; a CronMessageEvent would answer "cron".
    platform = context.get_platform_inst(session.platform_id)
    return platform.meta() if platform is not None else None
