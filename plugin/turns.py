"""Turns of the main agent: from AstrBot's wish to ask the model until its pipeline task is done.

A turn begins in `on_waiting_llm_request`, which AstrBot does not fire for a message that a running
turn swallows as a follow-up. It ends when the task that runs AstrBot's pipeline is done, however
that comes about: of all signs only this one is always given.
"""

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial

from astrbot.api import logger
from astrbot.api.event import AstrMessageEvent

from ..manager import Asker, Origin, SessionId, Sessions, SubAgentManager, Turn
from ..manager.errors import StoreError
from ..manager.host import Clock
from ..manager.models import OwnerId
from .owned_tasks import OwnedTasks
from .toolset import LiveToolSet
from .turn_handle import TurnHandle

_MARK = "astrbot_plugin_subagents.turn"
"""The event's extra that holds the id of its turn."""

_END_SECONDS = 10.0
"""How long turns that are just ending may take when the plugin stops."""


@dataclass(slots=True, kw_only=True)
class OpenTurn:
    """A turn that is under way."""

    turn: Turn
    manager: SubAgentManager
    handle: TurnHandle
    task: asyncio.Task[object]
    on_done: Callable[[asyncio.Task[object]], None]
    tool_sets: list[LiveToolSet] = field(default_factory=list)
    """One for each model run; a plugin's own model request can come before the usual one."""
    answered: bool = False
    """The main agent came to its end, so AstrBot keeps what it was told."""


class Turns:
    """The turns under way, each found by its event."""

    def __init__(self, sessions: Sessions, clock: Clock) -> None:
        self._sessions = sessions
        self._clock = clock
        self._open: dict[str, OpenTurn] = {}
        self._ending = OwnedTasks()
        self._closed = False

    def of(self, event: AstrMessageEvent) -> OpenTurn | None:
        """Return the turn that this event began, while it lasts."""
        return self._open.get(str(event.get_extra(_MARK)))

    def in_session(self, session: SessionId) -> Iterator[OpenTurn]:
        """Return the session's turns under way, the running one and those that wait for it."""
        return (each for each in tuple(self._open.values()) if each.turn.session == session)

    async def begin(self, event: AstrMessageEvent) -> None:
        """Open the turn of an event, once for each event.

        Raises:
            SubAgentError: The session's data cannot be read, or everything is being closed.
        """
        task = asyncio.current_task()
        if task is None or self.of(event) is not None:
            return
        handle = TurnHandle(event=event)
        turn = Turn(
            turn_id=self._clock.new_id(),
            session=SessionId(event.unified_msg_origin),
            asker=Asker(owner=_owner(event), is_admin=event.is_admin()),
            origin=_origin(event),
            handle=handle,
        )
        manager = await self._sessions.open(turn.session)
        if self._closed:
            return
        event.set_extra(_MARK, turn.turn_id)
        on_done = partial(self._done, turn.turn_id)
        self._open[turn.turn_id] = OpenTurn(
            turn=turn, manager=manager, handle=handle, task=task, on_done=on_done
        )
        manager.begin_turn(turn)
        task.add_done_callback(on_done)

    async def close(self) -> None:
        """Let go of all turns; those that are just ending are seen to their end."""
        self._closed = True
        for open_turn in self._open.values():
            open_turn.task.remove_done_callback(open_turn.on_done)
        self._open.clear()
        await self._ending.finish(seconds=_END_SECONDS)

    def _done(self, turn_id: str, task: asyncio.Task[object]) -> None:
        open_turn = self._open.pop(turn_id)
        open_turn.handle.over = True
        aborted = task.cancelled() or _was_cut_off(open_turn)
        self._ending.start(_end(open_turn, aborted=aborted), what="Ending a turn")


async def _end(open_turn: OpenTurn, *, aborted: bool) -> None:
    try:
        await open_turn.manager.end_turn(open_turn.turn, aborted=aborted)
    except StoreError as error:
        logger.error("The end of a turn could not be stored: %s", error)


def _was_cut_off(open_turn: OpenTurn) -> bool:
    """Tell whether AstrBot keeps nothing, or only a part, of what the turn was handed.

    AstrBot marks /stop by an extra; /reset, /new and other plugins stop the event; after a failure
    of the provider there is no answer.
    """
    event = open_turn.handle.event
    return (
        not open_turn.answered or event.is_stopped() or bool(event.get_extra("agent_user_aborted"))
    )


def _owner(event: AstrMessageEvent) -> OwnerId:
    # A sender without an id must not pass for the bot, whose owner id is the empty one.
    return OwnerId(event.get_sender_id() or f"nobody in {event.unified_msg_origin}")


def _origin(event: AstrMessageEvent) -> Origin:
    return Origin(
        adapter=event.get_platform_id(),
        sender_id=event.get_sender_id(),
        sender_name=event.get_sender_name(),
        group_id=str(event.get_group_id() or ""),
        message_type=event.get_message_type().value,
    )
