"""What is said of an agent to a reader: another user's words are quoted, never spoken as ours."""

import json

from ..manager import SubAgentConfig
from ..manager.models import BOT, OwnerId
from .reports import one_line

_NOTHING = "no description"
_OTHERS = 200
"""Characters of what another user's agent says of itself."""


def about(config: SubAgentConfig, reader: OwnerId | None, *, most: int = 2_000) -> str:
    """An agent's description in one line.

    A description was written in its owner's turn. In the turn of somebody else, an admin perhaps,
    it is data: shortened, quoted, and with the owner's name before it.

    Args:
        config: The agent.
        reader: In whose turn it is shown; None: nobody in particular.
        most: Characters of the owner's own description.
    """
    if config.owner in (BOT, reader):
        return one_line(config.description, most) or _NOTHING
    words = one_line(config.description, min(most, _OTHERS))
    quoted = json.dumps(words, ensure_ascii=False)
    owner = json.dumps(one_line(config.owner, 64), ensure_ascii=False)
    return f"of user {owner}, who says of it: {quoted}" if words else f"of user {owner}"
