"""What the home of a run orders of the process that executes it."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from .models import RunId, SessionId

type OrderKind = Literal["stop", "answer", "steer", "hand_over"]
"""`stop`: its text is the reason. `answer`: the answer to its question. `steer`: its child is to be
told something. `hand_over`: nobody waits for it any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOrder:
    """One order; it is carried out once, by whoever takes it."""

    session: SessionId
    run_id: RunId
    kind: OrderKind
    text: str = ""
    about: str = ""
    """What an answer answers: the question as it was asked."""
    at: datetime
