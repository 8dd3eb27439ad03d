"""What a main agent is told of how results of work in the background reach it."""

from ..manager import Turn
from ..manager.errands import wakes_nobody

_ENDED = "You may end your turn."
_NOT_WOKEN = (
    "You were woken several times without a word of the user, so this will not wake you again: if "
    "you end your turn, it waits for the user's next message."
)


def how_delivered(usual: str, turn: Turn) -> str:
    """How what a turn starts is delivered.

    Args:
        usual: What is true of every turn.
        turn: The turn that starts it.
    """
    return f"{usual} {_NOT_WOKEN if wakes_nobody(turn.origin) else _ENDED}"
