"""The questions of one session's runs: what is open, who was shown it, and its answer."""

from collections.abc import Collection, Iterator, Mapping

from ..errors import RunNotFound
from ..models import Run, RunId
from .kinds import LiveRun


class Questions:
    """Reaches the question of each run at work."""

    def __init__(self, live: Mapping[RunId, LiveRun]) -> None:
        """Set it up.

        Args:
            live: The session's unfinished runs as they are at any time, oldest first.
        """
        self._live = live

    async def ask(self, run_id: RunId, question: str) -> str | None:
        """Let a run wait for an answer; None when nobody gave one in time.

        Raises:
            RunNotFound: It is not at work here.
        """
        if (execution := self._live.get(run_id)) is None:
            raise RunNotFound(run_id)
        return await execution.ask(question)

    def answer(self, run_id: RunId, text: str) -> bool:
        """Answer the open question of a run; False when it has none."""
        execution = self._live.get(run_id)
        return execution is not None and execution.asking.answer(text)

    def open(self) -> list[Run]:
        """Runs that wait for an answer, oldest first."""
        return [each.run for each in self._asking()]

    def unshown(self) -> list[Run]:
        """Those of `open` that nobody has been shown."""
        return self.shown_to("")

    def shown_to(self, who: str) -> list[Run]:
        """Those of `open` that only this taker has been shown; "" is nobody."""
        return [each.run for each in self._asking() if each.asking.shown_to == who]

    def show(self, run_ids: Collection[RunId], to: str) -> None:
        """Note who has been shown the open questions of runs; "" is nobody any more."""
        for run_id in run_ids:
            if execution := self._live.get(run_id):
                execution.asking.show(to)

    def _asking(self) -> Iterator[LiveRun]:
        return (each for each in self._live.values() if each.asking.is_open)
