"""What the host adapter keeps of a turn of the main agent: `Turn.handle` is one of these.

`turns.py` opens it and fills it in as the turn goes on; a child that starts meanwhile reads it.
It is no part of the turn's life: whether the turn still runs is `turns.py`'s business.
"""

from dataclasses import dataclass

from astrbot.api import ToolSet
from astrbot.api.event import AstrMessageEvent
from astrbot.api.provider import ProviderRequest


@dataclass(slots=True, kw_only=True)
class TurnHandle:
    """A turn as AstrBot sees it."""

    event: AstrMessageEvent
    main_tools: ToolSet | None = None
    """The main agent's tools as `on_llm_request` saw them, without ours; None: it has none."""
    provider_request: ProviderRequest | None = None
    """The main agent's model request; None before `on_llm_request`."""
    over: bool = False
    """True once the turn has ended: its event may not reach the chat any more."""
