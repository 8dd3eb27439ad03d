"""What a user sees of a bot: the messages it sent, and how one turn went.

Plain data without AstrBot; `astrbot_chat` fills it.
"""

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """One message of the bot."""

    text: str
    chain: tuple[Any, ...]
    """AstrBot's message components."""
    kind: str | None = None
    """AstrBot's type of the message, such as `tool_call`; None for an ordinary one."""
    streamed: tuple[str, ...] = ()
    """The pieces in which it came, when it was streamed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One user message and all that the bot sent until AstrBot had done with it."""

    sent: tuple[Sent, ...]
    event: Any = field(repr=False)
    """AstrBot's event of the user message."""
    stopped: bool
    """The turn was stopped by a command or by a plugin."""
    cancelled: bool
    """The task that ran the turn was cancelled."""
    error: BaseException | None
    """What the task that ran the turn raised."""

    @property
    def answers(self) -> tuple[str, ...]:
        """The texts for the user, without tool notices."""
        return tuple(each.text for each in self.sent if each.kind is None and each.text)

    @property
    def answer(self) -> str:
        """The last text for the user; empty when there was none."""
        return self.answers[-1] if self.answers else ""
