"""Progress in the chat, for those who want it: few messages, each worth reading.

What happens within a few seconds becomes one message. `brief` tells of starts, trouble and ends;
`steps` also of what each task does. A task that is over before anyone would have missed it is not
told of at all.
"""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from ..manager import Run, RunState, SessionId, Settings
from ..manager.events import Event, EventBus, RunChanged, ToolStarted
from ..manager.host import Clock
from .command_texts import shortened, who
from .languages import Languages
from .messenger import AstrBotMessenger
from .owned_tasks import OwnedTasks

if TYPE_CHECKING:
    from ..manager.models import RunId

_EVERY_SECONDS = 5.0
"""No chat gets more than one message in this time."""
_STUCK_SECONDS = 120.0
"""A task of which nothing was heard for so long is told of, once."""
_CLOSE_SECONDS = 2.0
_LINES = 12


class Progress:
    """Tells chats what their tasks do."""

    def __init__(
        self,
        settings: Callable[[], Settings],
        messenger: AstrBotMessenger,
        languages: Languages,
        bus: EventBus,
        clock: Clock,
    ) -> None:
        self._settings = settings
        self._messenger = messenger
        self._languages = languages
        self._clock = clock
        self._lines: dict[SessionId, dict[RunId, str]] = {}
        """What the next message of a chat says, one line for each task."""
        self._live: dict[RunId, tuple[Run, float]] = {}
        """Tasks at work that were told of or are about to be, and when each was last heard of."""
        self._told: set[RunId] = set()
        self._take_back: dict[RunId, Callable[[], None]] = {}
        self._telling = OwnedTasks()
        self._unsubscribe = bus.subscribe(self._hear)

    async def close(self) -> None:
        """Tell nothing more."""
        self._unsubscribe()
        for take_back in self._take_back.values():
            take_back()
        self._take_back.clear()
        await self._telling.finish(seconds=_CLOSE_SECONDS)

    def _hear(self, happened: Event) -> None:
        mode = self._settings().progress_messages
        if mode == "off":
            return
        match happened:
            case RunChanged(run=run):
                self._changed(run)
            case ToolStarted(run_id=run_id, name=name) if run_id in self._live:
                run, _ = self._live[run_id]
                self._live[run_id] = (run, self._clock.monotonic())
                if mode == "steps":
                    self._note(run, "progress.step", tool=shortened(name, 60))

    def _changed(self, run: Run) -> None:
        if run.is_over:
            self._ended(run)
        elif run.state is RunState.RUNNING:
            self._live[run.run_id] = (run, self._clock.monotonic())
            self._watch(run)
            self._note(run, "progress.started")
        elif run.state is RunState.WAITING:
            self._live.pop(run.run_id, None)
            self._note(run, "progress.asks")

    def _ended(self, run: Run) -> None:
        self._live.pop(run.run_id, None)
        self._take_back.pop(run.run_id, _nothing)()
        is_well = run.state is RunState.COMPLETED
        if is_well and run.run_id not in self._told:
            # over before its start was told: its result says all
            self._lines.get(run.session, {}).pop(run.run_id, None)
            return
        self._told.discard(run.run_id)
        if is_well:
            self._note(run, "progress.done")
        else:
            reason = shortened(run.failure.message, 200) if run.failure else ""
            state = self._languages.text(f"state.{run.state}", run.session)
            self._note(run, "progress.trouble", state=state, reason=reason)

    def _note(self, run: Run, key: str, **values: object) -> None:
        text = self._languages.text(key, run.session, name=who(run), **values)
        waiting = self._lines.get(run.session)
        if waiting is None:
            waiting = self._lines[run.session] = {}
            self._telling.start(self._tell(run.session), what="Telling progress")
        waiting[run.run_id] = text

    async def _tell(self, session: SessionId) -> None:
        """Tell what gathers, as long as something does."""
        while True:
            await asyncio.sleep(_EVERY_SECONDS)
            lines = self._lines.get(session)
            if not lines:
                break
            self._lines[session] = {}
            self._told.update(run_id for run_id in lines if run_id in self._live)
            await self._messenger.say(session, "\n".join([*lines.values()][:_LINES]))
        self._lines.pop(session, None)

    def _watch(self, run: Run) -> None:
        """Look whether anything was heard of a task, when nothing might have been for too long."""
        heard = self._live[run.run_id][1]
        self._take_back.pop(run.run_id, _nothing)()
        self._take_back[run.run_id] = self._clock.call_at(
            heard + _STUCK_SECONDS, lambda: self._look_at(run)
        )

    def _look_at(self, run: Run) -> None:
        self._take_back.pop(run.run_id, None)
        if run.run_id not in self._live:
            return
        silent = self._clock.monotonic() - self._live[run.run_id][1]
        if silent < _STUCK_SECONDS:
            self._watch(run)
        else:
            self._note(run, "progress.stuck", seconds=int(silent))


def _nothing() -> None:
    """There is no timer to be taken back."""
