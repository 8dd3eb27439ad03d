"""Turns of the main agent: from AstrBot's wish to ask the model until its pipeline task is done.

A turn begins in `on_waiting_llm_request`, which AstrBot does not fire for a message that a running
turn swallows as a follow-up. It ends when the task that runs AstrBot's pipeline is done, however
that comes about: of all signs only this one is always given.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial

from astrbot.api import logger
from astrbot.api.event import AstrMessageEvent
from astrbot.api.provider import LLMResponse

from ..manager import Asker, Origin, SessionId, Sessions, SubAgentManager, Turn, TurnEnd
from ..manager.errors import StoreError, SubAgentError
from ..manager.host import Clock
from ..manager.messenger import Errand
from ..manager.models import RunId
from ..subagent_tools import running_notes
from .asker import asker_of
from .main_agent import MainAgent, MainAgents
from .owned_tasks import OwnedTasks
from .toolset import LiveToolSet
from .turn_handle import TurnHandle
from .wake_event import WakeEvent, errand_of

_MARK = "astrbot_plugin_subagents.turn"
"""The event's extra that holds the id of its turn."""

_CUT_OFF = "agent_user_aborted"
"""The event's extra by which AstrBot says that its agent was cut off at work."""
_STOP_REQUESTED = "agent_stop_requested"
"""The event's extra of /stop; AstrBot 4.26 leaves it at that when its model is just done."""

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
    agent: MainAgent | None = None
    """The main agent at work; None before it begins, and where AstrBot does not let us find it."""
    answered: bool = False
    """The main agent gave an answer; others may stop the event after that."""

    def held(self) -> tuple[RunId, ...]:
        """The results that the turn was handed."""
        rows = self.manager.runs.results.outbox.open()
        return tuple(RunId(row.delivery_id) for row in rows if row.taker == self.turn.turn_id)


type TellOrigin = Callable[[Origin, AstrMessageEvent], Awaitable[Origin]]


class Turns:
    """The turns under way, each found by its event."""

    def __init__(self, sessions: Sessions, clock: Clock, tell: TellOrigin | None = None) -> None:
        """Set it up.

        Args:
            sessions: Whose turns they are.
            clock: Gives ids.
            tell: Adds to a turn's origin what other processes have to know; None: there are none.
        """
        self._sessions = sessions
        self._clock = clock
        self._tell = tell
        self._open: dict[str, OpenTurn] = {}
        self._agents = MainAgents()
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
        errand = errand_of(event)
        origin = errand.origin if errand is not None else _origin(event)
        turn = Turn(
            turn_id=self._clock.new_id(),
            session=SessionId(event.unified_msg_origin),
            asker=_asker(event, errand),
            origin=await self._tell(origin, event) if self._tell is not None else origin,
            handle=handle,
            message="" if errand is not None else event.message_str,
        )
        manager = await self._sessions.open_here(turn.session)
        if self._closed:
            return
        event.set_extra(_MARK, turn.turn_id)
        on_done = partial(self._done, turn.turn_id)
        self._open[turn.turn_id] = OpenTurn(
            turn=turn, manager=manager, handle=handle, task=task, on_done=on_done
        )
        manager.begin_turn(turn)
        task.add_done_callback(on_done)
        if isinstance(event, WakeEvent):
            event.turn_begins()

    def agent_begins(self, event: AstrMessageEvent, run_context: object) -> None:
        """Follow the main agent of an event's turn; other agents may begin there too."""
        open_turn = self.of(event)
        if open_turn is None or open_turn.agent is not None:
            return
        open_turn.agent = self._agents.find(event.unified_msg_origin, run_context)
        if open_turn.agent is not None:
            # an agent that a plugin had asked before may have been taken for this one
            open_turn.answered = False
            open_turn.agent.before_each_request(partial(_news, open_turn))
            if isinstance(event, WakeEvent):
                event.has_failed = open_turn.agent.has_failed

    def agent_is_done(
        self, event: AstrMessageEvent, run_context: object, response: LLMResponse
    ) -> None:
        """Note the answer of an event's turn; AstrBot tells of failed and stopped agents too."""
        open_turn = self.of(event)
        if open_turn is None or response.role == "err" or event.get_extra(_STOP_REQUESTED):
            return
        agent = open_turn.agent
        if agent is None or (agent.works_in(run_context) and not agent.was_aborted()):
            open_turn.answered = True

    async def close(self) -> None:
        """Let go of all turns, which go on without us, and see their ends stored."""
        self._closed = True
        for open_turn in self._open.values():
            open_turn.task.remove_done_callback(open_turn.on_done)
            end = _end_of(open_turn)
            self._start_ending(open_turn, TurnEnd.LEFT if end is TurnEnd.LOST else end)
        self._open.clear()
        await self._ending.finish(seconds=_END_SECONDS)

    def _done(self, turn_id: str, task: asyncio.Task[object]) -> None:
        open_turn = self._open.pop(turn_id)
        open_turn.handle.over = True
        keeps_nothing = task.cancelled() and not open_turn.answered
        self._start_ending(open_turn, TurnEnd.LOST if keeps_nothing else _end_of(open_turn))

    def _start_ending(self, open_turn: OpenTurn, end: TurnEnd) -> None:
        self._ending.start(_end(open_turn, end), what="Ending a turn")


async def _news(open_turn: OpenTurn, compressed: bool) -> str:
    """What the next model request of a turn carries on top; whatever it was handed goes with it."""
    manager, turn = open_turn.manager, open_turn.turn
    try:
        news = await running_notes(manager, turn, compressed=compressed)
    except SubAgentError as error:
        logger.error("News could not be given to a running turn: %s", error)
        news = ""
    manager.carried(turn)
    return news


async def _end(open_turn: OpenTurn, end: TurnEnd) -> None:
    turn, manager = open_turn.turn, open_turn.manager
    held = open_turn.held()
    if end is TurnEnd.STOPPED and turn.asker.is_alone and not turn.keeps_children:
        # by a button of AstrBot's page, for example: whoever stops an answer wants no other
        manager.errands.hold(turn.asker)
    try:
        await manager.end_turn(turn, end=end)
    except StoreError as error:
        logger.error("The end of a turn could not be stored: %s", error)
    finally:
        if isinstance(event := open_turn.handle.event, WakeEvent):
            event.turn_is_settled(held)


def _end_of(open_turn: OpenTurn) -> TurnEnd:
    """Tell how far a turn came.

    An event that was stopped says nothing by itself: plugins that send the answer in their own way
    stop it too. AstrBot keeps the conversation of an agent that was cut off at work, whoever did it
    (/stop, /reset, /new, a plugin), and marks the event then; of a failure it keeps nothing.
    """
    event, agent = open_turn.handle.event, open_turn.agent
    if event.get_extra(_CUT_OFF) or (event.get_extra(_STOP_REQUESTED) and not open_turn.answered):
        return TurnEnd.STOPPED
    if isinstance(event, WakeEvent) and event.is_unheard:
        # the model has read it all, but the chat was not told
        return TurnEnd.LOST
    if open_turn.answered or (agent is not None and agent.ended_without_answer()):
        return TurnEnd.ANSWERED
    return TurnEnd.LOST


def _asker(event: AstrMessageEvent, errand: Errand | None) -> Asker:
    if errand is None:
        return asker_of(event)
    return replace(asker_of(event), owner=errand.owner)


def _origin(event: AstrMessageEvent) -> Origin:
    return Origin(
        adapter=event.get_platform_id(),
        sender_id=event.get_sender_id(),
        sender_name=event.get_sender_name(),
        group_id=str(event.get_group_id() or ""),
        message_type=event.get_message_type().value,
    )
