"""Events of a run that another process executes, told again where the run's chat is.

They were kept by the process in which they happened, so they are marked as retold.
"""

from ..events import EventBus, ModelCalled, RunEvent, ToolFinished, ToolStarted
from ..models import Run, RunId, Usage
from ..store.protocol import Store
from ..stored_event import StoredEvent

_AT_ONCE = 500


class Retelling:
    """Tells the stored events of one run, each once."""

    def __init__(self, run: Run, store: Store, bus: EventBus, *, from_now: bool) -> None:
        """Set it up.

        Args:
            run: Whose events they are.
            store: Where they are kept.
            bus: Where they are told.
            from_now: Whether those that are stored by now were told before.
        """
        self._run = run
        self._store = store
        self._bus = bus
        self._last = None if from_now else 0

    async def skip(self) -> None:
        """Leave out what is stored by now.

        Raises:
            StoreError: It cannot be read.
        """
        self._last = await self._store.last_event_id()

    async def tell(self) -> None:
        """Tell what is new.

        Raises:
            StoreError: It cannot be read.
        """
        if self._last is None:
            await self.skip()
        while True:
            after = self._last or 0
            events = await self._store.events_after(after, run_id=self._run.run_id, limit=_AT_ONCE)
            for event in events:
                self._last = event.event_id
                if (told := _again(event, self._run.run_id)) is not None:
                    self._bus.publish(told)
            if len(events) < _AT_ONCE:
                return


def _again(event: StoredEvent, run_id: RunId) -> RunEvent | None:
    """The event as it was told; None for those that the run's row tells of."""
    kept = event.payload
    match event.kind:
        case ModelCalled.kind:
            spent, cached, output = kept["tokens"]
            return ModelCalled(
                session=event.session,
                at=event.at,
                run_id=run_id,
                step=kept["step"],
                text=kept["text"],
                usage=Usage(input=spent, cached=cached, output=output),
                retold=True,
            )
        case ToolStarted.kind:
            return ToolStarted(
                session=event.session,
                at=event.at,
                run_id=run_id,
                name=kept["name"],
                arguments=kept["arguments"],
                retold=True,
            )
        case ToolFinished.kind:
            return ToolFinished(
                session=event.session,
                at=event.at,
                run_id=run_id,
                name=kept["name"],
                output=kept["output"],
                is_error=kept["is_error"],
                retold=True,
            )
    return None
