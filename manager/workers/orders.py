"""Orders on their way from the home of a run to who executes it; each is carried out once."""

import asyncio
import logging

from ..errors import StoreError
from ..events import Event, EventBus, RunChanged
from ..host import Clock
from ..models import Run, RunState, StopReason
from ..run_order import OrderKind, RunOrder
from ..runs.kinds import LiveRun
from ..runs.shielding import carry_through
from ..store.protocol import Store
from .ports import Signal, Signals

logger = logging.getLogger(__name__)


class Orders:
    """The home's side: what is ordered of one run."""

    def __init__(self, run: Run, store: Store, signals: Signals, clock: Clock) -> None:
        self._run = run
        self._store = store
        self._signals = signals
        self._clock = clock
        self._waiting: list[RunOrder] = []
        self._moving = asyncio.Lock()
        self._is_untold = False
        """Whether the store has orders of which nobody was told."""

    def add(self, kind: OrderKind, text: str = "", *, about: str = "") -> None:
        """Order something; it is on its way with the next `give`."""
        self._waiting.append(
            RunOrder(
                session=self._run.session,
                run_id=self._run.run_id,
                kind=kind,
                text=text,
                about=about,
                at=self._clock.now(),
            )
        )

    async def give(self) -> None:
        """Have the store keep what was ordered, and tell the others.

        Raises:
            StoreError: It could not be kept yet; the next call tries again.
        """
        async with self._moving:
            while self._waiting:
                _, cancelled = await carry_through(self._store.add_order(self._waiting[0]))
                del self._waiting[0]
                self._is_untold = True
                if cancelled:
                    raise asyncio.CancelledError
        if self._is_untold:
            self._is_untold = False
            await self._signals.tell(Signal(kind="order", subject=self._run.run_id))

    async def take_back(self) -> list[RunOrder]:
        """Everything that nobody has carried out yet; it is carried out here."""
        async with self._moving:
            stored = await self._store.take_orders(self._run.run_id)
            waiting, self._waiting = self._waiting, []
        return [*stored, *waiting]

    async def forget(self) -> None:
        """The run is over: what nobody has taken is void."""
        try:
            await self.take_back()
        except StoreError as error:
            logger.info("Orders of run %s stay until it is deleted: %s", self._run.run_id, error)


class Obedience:
    """The executing side: carries out what is ordered of one run."""

    def __init__(self, live: LiveRun, bus: EventBus) -> None:
        self._live = live
        self._run_id = live.run.run_id
        self._answers: list[RunOrder] = []
        """Answers to a question that is not open yet: the run was taken up with it."""
        self._unsubscribe = bus.subscribe(self._hear)

    def close(self) -> None:
        """Carry out nothing more."""
        self._unsubscribe()

    async def look(self, store: Store) -> None:
        """Carry out what is ordered by now.

        Raises:
            StoreError: It cannot be read.
        """
        orders, cancelled = await carry_through(store.take_orders(self._run_id))
        self.carry_out(orders)
        if cancelled:
            raise asyncio.CancelledError

    def carry_out(self, orders: list[RunOrder]) -> None:
        """Carry out these orders, in their order."""
        for order in orders:
            match order.kind:
                case "stop":
                    self._live.stop(StopReason(order.text))
                case "steer":
                    self._live.steer(order.text)
                case "hand_over":
                    self._live.hand_over()
                case "answer":
                    self._answers.append(order)
        self._answer()

    def _hear(self, happened: Event) -> None:
        if isinstance(happened, RunChanged) and happened.run.run_id == self._run_id:
            self._answer()

    def _answer(self) -> None:
        run = self._live.run
        if run.state is not RunState.WAITING or not self._live.asking.is_open:
            return
        # what answers another question came too late for it
        answers, self._answers = self._answers, []
        for order in answers:
            if order.about == run.question:
                self._live.asking.answer(order.text)
