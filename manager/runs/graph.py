"""The graph of a group: what each of its runs waits for, and when it may start.

A run starts the moment all its predecessors are completed; one that failed skips all that depend
on it. What decides are the runs as they stand, in memory or in the store, and nothing else, so
that a graph goes on wherever its runs do.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from ..errors import InvalidArgument
from ..host import Clock
from ..models import Run, RunId, RunState
from .pausing import pause

_LOOK_AGAIN_SECONDS = 1.0
"""How often a run that is at work elsewhere is looked at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """One task of a call, before it is a run."""

    label: str
    depends_on: tuple[str, ...] = ()
    """Labels."""
    is_numbered: bool = False
    """Whether its label was left out, and so is its number."""


def check_graph(nodes: Sequence[Node]) -> None:
    """Refuse a graph that could never be carried out.

    Raises:
        InvalidArgument: A label occurs twice, a label does not exist, or there is a cycle.
    """
    known: dict[str, Node] = {}
    for at, node in enumerate(nodes):
        if node.label in known:
            left_out = node.is_numbered or known[node.label].is_numbered
            why = " (one was left out, so it is its number)" if left_out else ""
            raise InvalidArgument(f"tasks[{at}].id", f"is used twice: {node.label!r}{why}")
        known[node.label] = node
    for at, node in enumerate(nodes):
        for label in node.depends_on:
            if label not in known:
                problem = f"names no task of this call: {label!r} (ids: {', '.join(known)})"
                raise InvalidArgument(f"tasks[{at}].depends_on", problem)
    if cycle := _cycle(known):
        raise InvalidArgument("depends_on", f"goes in a circle: {' -> '.join(cycle)}")


def _cycle(nodes: Mapping[str, Node]) -> list[str]:
    """The labels of a circle, the first one again at the end; empty when there is none."""
    left = {label: set(node.depends_on) for label, node in nodes.items()}
    while free := [label for label, waits in left.items() if not waits]:
        for label in free:
            del left[label]
        for waits in left.values():
            waits.difference_update(free)
    if not left:
        return []
    # whatever is left waits for something that is left: going back comes round at last
    path = [next(iter(left))]
    while path.count(path[-1]) == 1:
        path.append(min(left[path[-1]]))
    return path[path.index(path[-1]) :]


def spoiler(predecessors: Sequence[Run]) -> Run | None:
    """The predecessor because of which a run cannot start any more."""
    return next(
        (run for run in predecessors if run.is_over and run.state is not RunState.COMPLETED), None
    )


class Gate:
    """Where one run waits for its predecessors."""

    def __init__(
        self,
        run: Run,
        *,
        clock: Clock,
        find: Callable[[RunId], Awaitable[Run]],
        end_of: Callable[[RunId], asyncio.Future[Run] | None],
    ) -> None:
        """Set the gate up.

        Args:
            run: The run that waits.
            clock: The host's time.
            find: A run as it stands.
            end_of: Done when a run of this process is over; None: it is not at work here.
        """
        self._run = run
        self._clock = clock
        self._find = find
        self._end_of = end_of

    async def opens(self) -> Run | None:
        """Wait until the run may start.

        Returns:
            None: all predecessors are completed. Else the one that failed.
        """
        while True:
            predecessors = [await self._find(run_id) for run_id in self._run.depends_on]
            unfinished = [run for run in predecessors if not run.is_over]
            spoilt_by = spoiler(predecessors)
            if spoilt_by is not None or not unfinished:
                return spoilt_by
            ends = [end for run in unfinished if (end := self._end_of(run.run_id)) is not None]
            if not ends:
                # it is over since it was looked at, or another process works on it
                await pause(self._clock, _LOOK_AGAIN_SECONDS)
                continue
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
