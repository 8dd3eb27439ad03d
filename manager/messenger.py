"""The port to the chat: how results and questions reach their owner when no turn takes them.

AstrBot stands behind it in production; without one (`Silent`) everything waits for the owner's next
turn. Texts for people and for the woken model are made behind the port.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from .models import Origin, OwnerId, Run, RunId, SessionId
from .turn_record import TurnRecord


class Way(StrEnum):
    """How an errand is done."""

    WAKE = "wake"
    """A turn of the main agent that collects the results and answers."""
    TELL = "tell"
    """The results as they are, as messages to the chat."""
    ASK = "ask"
    """The open question of a run, as a message to the chat."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Errand:
    """Something to bring to one user of one chat."""

    way: Way
    session: SessionId
    owner: OwnerId
    origin: Origin
    """Where the newest of it comes from."""
    runs: tuple[Run, ...]
    """Results, oldest first, or the run that asks."""
    lost: tuple[TurnRecord, ...] = ()
    """Turns that a restart cut off and that nobody has answered, oldest first."""
    errand_id: str


def with_files(errand: Errand) -> tuple[Run, ...]:
    """The runs of an errand that made files."""
    return tuple(run for run in errand.runs if any(item.path for item in run.artifacts))


class Messenger(Protocol):
    """Brings errands to the chat."""

    @property
    def is_on(self) -> bool:
        """Whether anything can be brought now."""
        ...

    async def is_off_for(self, session: SessionId) -> bool:
        """Whether the plugin is switched off for a chat: its model is not to be woken then."""
        ...

    async def can_wake(self, errand: Errand) -> bool:
        """Whether a wake-up would reach the main agent of the chat, and its answer the chat.

        Not while the chat's platform is gone, or while somebody else takes the next message of the
        chat for theirs.
        """
        ...

    async def wake(self, errand: Errand) -> tuple[RunId, ...]:
        """Have the main agent of the chat take the results in a turn of its own.

        Returns when that turn is over, however it ended, or when there could be none. Whether the
        results were taken for good stands in the outbox.

        Returns:
            The results that this very turn held at its end.
        """
        ...

    async def tell(self, errand: Errand) -> tuple[RunId, ...]:
        """Send the results to the chat, without what the runs made; those that went out."""
        ...

    async def files(self, errand: Errand) -> tuple[RunId, ...]:
        """Send what the runs made to the chat, which was just told of their results.

        Returns:
            The runs of which all went out.
        """
        ...

    async def ask(self, errand: Errand) -> bool:
        """Send the question of a run to the chat; whether it went out."""
        ...


class Silent(Messenger):
    """Brings nothing: all waits for the owner's next turn."""

    @property
    def is_on(self) -> bool:
        """Never."""
        return False

    async def is_off_for(self, session: SessionId) -> bool:
        """Unknown, so no."""
        return False

    async def can_wake(self, errand: Errand) -> bool:
        """Never."""
        return False

    async def wake(self, errand: Errand) -> tuple[RunId, ...]:
        """Do nothing."""
        return ()

    async def tell(self, errand: Errand) -> tuple[RunId, ...]:
        """Do nothing."""
        return ()

    async def files(self, errand: Errand) -> tuple[RunId, ...]:
        """Do nothing."""
        return ()

    async def ask(self, errand: Errand) -> bool:
        """Do nothing."""
        return False
