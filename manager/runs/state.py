"""The transition table of a run; nothing else changes `Run.state`."""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from ..errors import IllegalTransition
from ..models import TERMINAL, Run, RunState

_ENDS = frozenset(TERMINAL)

TRANSITIONS: Mapping[RunState, frozenset[RunState]] = MappingProxyType(
    {
        RunState.QUEUED: frozenset(
            {RunState.RUNNING, RunState.FAILED, RunState.CANCELLED, RunState.INTERRUPTED}
        ),
        # back to the queue: taken up again after its executor went away
        RunState.RUNNING: _ENDS | {RunState.WAITING, RunState.QUEUED},
        RunState.WAITING: _ENDS | {RunState.RUNNING, RunState.QUEUED},
        **{end: frozenset[RunState]() for end in _ENDS},
    }
)


def advance(run: Run, state: RunState, **changes: Any) -> Run:
    """The run in its next state, with other fields changed along.

    Raises:
        IllegalTransition: The table does not know this step.
    """
    if state not in TRANSITIONS[run.state]:
        raise IllegalTransition(run.run_id, run.state, state)
    return replace(run, state=state, **changes)
