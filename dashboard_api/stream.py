"""The live stream: events as they are kept, told by the store's own numbers.

Nothing is told that the store does not have yet: so each event has the number that a reader resumes
from, and a reader that comes back misses none and sees none twice. It is live all the same, since
the event log writes soon while somebody reads, and says when it has written. A reader takes page
by page from the store at its own pace; nothing is held for it in memory. Events of other processes
that share the store are found by looking again every two seconds.
"""

import asyncio
import json
import logging
from collections.abc import AsyncGenerator, Callable, Sequence

from ..manager.errors import StoreError
from ..manager.event_log import EventLog
from ..manager.host import Clock
from ..manager.models import RunId, SessionId
from ..manager.services import Services
from ..manager.store.protocol import Store
from ..manager.stored_event import StoredEvent
from .asks import EventsAsks
from .errors import ApiProblem
from .shaping import event_row

logger = logging.getLogger(__name__)

PING_SECONDS = 15.0
LOOK_SECONDS = 2.0
_STREAMS_AT_MOST = 100
"""Each looks into the store every two seconds."""
_PAGE = 100
"""Events of one chunk."""

_PING = ": ping\n\n"
_RESET = "event: reset\ndata: {}\n\n"
_GONE = "event: gone\ndata: {}\n\n"


class EventStreams:
    """All open streams of one dashboard."""

    def __init__(self, services: Services, log: EventLog) -> None:
        self._store = services.store
        self._clock = services.clock
        self._log = log
        self._streams: set[_Stream] = set()
        self._unfollow: Callable[[], None] | None = None
        self._take_back: Callable[[], None] | None = None
        self._is_closed = False

    def open(self, asked: EventsAsks) -> AsyncGenerator[str]:
        """A new stream; it begins with its first chunk and ends when it is closed, or all are.

        Raises:
            ApiProblem: There are too many.
        """
        if len(self._streams) >= _STREAMS_AT_MOST:
            text = "Too many pages of the dashboard are open: close some."
            raise ApiProblem("too_many_streams", text, status=503)
        return self._read(_Stream(asked, self._store))

    def close(self) -> None:
        """End all streams; each tells its reader that the plugin is gone."""
        self._is_closed = True
        self._wake()

    async def _read(self, stream: "_Stream") -> AsyncGenerator[str]:
        self._add(stream)
        pinging = _Pinging(self._clock, stream.stirred)
        try:
            while not self._is_closed:
                # before the look: what is kept from now on makes it look once more
                stream.stirred.clear()
                if chunk := await stream.next():
                    pinging.put_off()
                    yield chunk
                elif pinging.is_due:
                    pinging.put_off()
                    yield _PING
                elif not self._is_closed:
                    await stream.stirred.wait()
            yield _GONE
        finally:
            pinging.close()
            self._drop(stream)

    def _add(self, stream: "_Stream") -> None:
        self._streams.add(stream)
        if self._unfollow is None:
            self._unfollow = self._log.follow(self._kept)
            self._look_later()

    def _drop(self, stream: "_Stream") -> None:
        self._streams.discard(stream)
        if self._streams or self._unfollow is None:
            return
        self._unfollow()
        self._unfollow = None
        if self._take_back is not None:
            self._take_back()
            self._take_back = None

    def _look_later(self) -> None:
        self._take_back = self._clock.call_at(self._clock.monotonic() + LOOK_SECONDS, self._look)

    def _look(self) -> None:
        self._wake()
        self._look_later()

    def _kept(self, events: Sequence[StoredEvent]) -> None:
        self._wake()

    def _wake(self) -> None:
        for stream in self._streams:
            stream.stirred.set()


class _Stream:
    """One reader's place in the events."""

    def __init__(self, asked: EventsAsks, store: Store) -> None:
        self.stirred = asyncio.Event()
        """There may be something new."""
        self._store = store
        self._session = SessionId(asked.session) if asked.session is not None else None
        self._run_id = RunId(asked.run_id) if asked.run_id is not None else None
        self._wanted = asked.after
        self._after: int | None = None
        """The last event that was told or passed over; None: it has not begun."""
        self._was_blind = False
        """Whether the store could not be read when it was to begin."""

    async def next(self) -> str:
        """What comes next; "" is nothing now."""
        try:
            if self._after is None:
                return await self._begin()
            return await self._page(self._after)
        except StoreError as error:
            # looked for again with the next stir
            logger.info("Events cannot be read now: %s", error)
            self._was_blind = self._was_blind or self._after is None
            return ""

    async def _begin(self) -> str:
        newest = await self._store.last_event_id()
        if self._wanted is None:
            self._after = newest
            return _RESET if self._was_blind else _PING
        is_there = self._wanted == newest or await self._is_kept(self._wanted, newest)
        self._after = self._wanted if is_there else newest
        return _PING if is_there else _RESET

    async def _is_kept(self, after: int, newest: int) -> bool:
        """Whether nothing that came after an event has been deleted."""
        oldest = await self._store.events_after(0, limit=1)
        return bool(oldest) and oldest[0].event_id - 1 <= after <= newest

    async def _page(self, after: int) -> str:
        newest = await self._store.last_event_id() if self._is_narrowed else after
        events = await self._store.events_after(
            after, session=self._session, run_id=self._run_id, limit=_PAGE
        )
        if events:
            self._after = events[-1].event_id
        else:
            # what is not for this reader is not looked at again
            self._after = max(after, newest)
        return "".join(map(_as_text, events))

    @property
    def _is_narrowed(self) -> bool:
        return self._session is not None or self._run_id is not None


class _Pinging:
    """Says when a reader has heard nothing for long."""

    def __init__(self, clock: Clock, stirred: asyncio.Event) -> None:
        self._clock = clock
        self._stirred = stirred
        self.is_due = False
        self._take_back = self._set()

    def put_off(self) -> None:
        """The reader hears something now."""
        self.is_due = False
        self._take_back()
        self._take_back = self._set()

    def close(self) -> None:
        """No more pings."""
        self._take_back()

    def _set(self) -> Callable[[], None]:
        return self._clock.call_at(self._clock.monotonic() + PING_SECONDS, self._ring)

    def _ring(self) -> None:
        self.is_due = True
        self._stirred.set()


def _as_text(event: StoredEvent) -> str:
    data = json.dumps(event_row(event).model_dump(mode="json"), separators=(",", ":"))
    return f"id: {event.event_id}\nevent: {event.kind}\ndata: {data}\n\n"
