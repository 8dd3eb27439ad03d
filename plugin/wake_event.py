"""The chat event of a wake-up turn: AstrBot's own kind for turns that no message began.

It goes through the whole pipeline like a user's message, so that the session's lock, other plugins'
hooks, the history and the sending of the reply are AstrBot's own.
"""

import asyncio
from collections.abc import Callable, Collection
from typing import Any

from astrbot.api.event import AstrMessageEvent, MessageChain
from astrbot.api.star import Context
from astrbot.core.cron.events import CronMessageEvent
from astrbot.core.platform.message_session import MessageSession

from ..manager.messenger import Errand, with_files
from ..manager.models import RunId

SENDER = "astrbot_plugin_subagents"
"""Not the user's id: else AstrBot would take messages that the user sends meanwhile for words to
this turn."""
_SELF = "astrbot"
_NOT_FOR_PEOPLE = frozenset(
    {"tool_call", "tool_call_result", "agent_stats", "reasoning", "break", "aborted"}
)
"""Kinds of messages that AstrBot's WebUI shows in its own way for turns that it began."""


class _Sending:
    """AstrBot's context for its event to send with, which notes what comes of it.

    The event itself throws the outcome away, and AstrBot's pipeline catches what is raised.
    """

    def __init__(self, context: Context, outcomes: set[bool]) -> None:
        self._context = context
        self._outcomes = outcomes

    async def send_message(self, session: MessageSession, chain: MessageChain) -> bool:
        is_sent = False
        try:
            is_sent = bool(await self._context.send_message(session, chain))
        finally:
            self._outcomes.add(is_sent)
        return is_sent

    def __getattr__(self, name: str) -> Any:
        """All else is the context's own."""
        return getattr(self._context, name)


class WakeEvent(CronMessageEvent):
    """A message from nobody that has the main agent collect results."""

    errand: Errand
    over: asyncio.Event
    """Set once AstrBot is done with the event and what its turn left is settled."""
    has_turn: bool
    is_filled: bool
    """Whether its model request holds what it is to bring."""
    has_failed: Callable[[], bool]
    """Whether the model of its turn failed."""
    held: tuple[RunId, ...]
    """The results that its turn held at its end."""
    _outcomes: set[bool]
    """Whether messages to people went out."""

    @classmethod
    def of(cls, errand: Errand, context: Context, *, text: str, role: str) -> "WakeEvent":
        """Make the event.

        Args:
            errand: What the turn is to collect.
            context: AstrBot's context for plugins.
            text: What the main model is told, with the prefix that wakes it.
            role: The owner's role in AstrBot now.
        """
        session = MessageSession.from_str(errand.session)
        outcomes: set[bool] = set()
        event = cls(
            context=_Sending(context, outcomes),
            session=session,
            message=text,
            sender_id=SENDER,
            sender_name="Sub-agents",
            # else every piece of a streamed answer becomes a message of its own
            extras={"enable_streaming": False},
            message_type=session.message_type,
        )
        event.message_obj.sender.user_id = SENDER
        # else AstrBot could take it for the bot's own words, which it may be told to ignore
        event.message_obj.self_id = _SELF
        if group_id := errand.origin.group_id:
            event.message_obj.group_id = group_id
        event.role = role
        event.errand = errand
        event.over = asyncio.Event()
        event.has_turn = event.is_filled = False
        event.has_failed = lambda: False
        event.held = ()
        event._outcomes = outcomes
        return event

    @property
    def is_unheard(self) -> bool:
        """Whether there was something to say to people, and nothing of it went out."""
        return self._outcomes == {False}

    async def send(self, message: MessageChain) -> None:
        """Send to the chat, but only what is meant for people.

        Nobody asked for this turn, so nobody is told that its model failed: it is tried again.
        """
        if message is None or getattr(message, "type", None) in _NOT_FOR_PEOPLE:
            return
        if not self.has_failed():
            await super().send(message)

    def files_note(self, held: Collection[RunId]) -> str:
        """What the model is told of the files of those results that its turn was handed."""
        if not any(run.run_id in held for run in with_files(self.errand)):
            return ""
        return "\nThe files that these tasks made are sent to the user behind your answer.\n"

    def turn_begins(self) -> None:
        """A turn goes on for the event; `turn_is_settled` must follow."""
        self.has_turn = True

    def turn_is_settled(self, held: tuple[RunId, ...]) -> None:
        """The turn is over, and what it held is acknowledged or back."""
        self.held = held
        self.over.set()

    def cleanup_temporary_local_files(self) -> None:
        """Note that no turn comes any more: AstrBot calls this at the end of every event."""
        super().cleanup_temporary_local_files()
        if not self.has_turn:
            self.over.set()


def drop_empty(event: AstrMessageEvent) -> None:
    """Stop a wake-up that is given nothing, so that the model is not asked for no reason.

    Somebody else took the results, or the plugin is being reloaded; no other event is touched.
    """
    if isinstance(event, WakeEvent) and not event.is_filled:
        event.stop_event()


def errand_of(event: AstrMessageEvent) -> Errand | None:
    """What a wake-up turn is to collect; None for any other turn."""
    return event.errand if isinstance(event, WakeEvent) else None


def is_from_us(event: Any) -> bool:
    """Whether an event is a wake-up of ours."""
    return isinstance(event, WakeEvent)
