"""Where a run was asked for: what rebuilds its chat event later, or in another process."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """What rebuilds the chat event of a run after a restart; roles are not part of it."""

    adapter: str = ""
    sender_id: str = ""
    sender_name: str = ""
    group_id: str = ""
    persona_id: str = ""
    message_type: str = ""
    turn_id: str = ""
    """The turn in which the run was asked for."""
    generation: int = 0
    """Wake-up turns that led to it, one out of another; 0 is a turn that a user began."""
    tools: tuple[str, ...] | None = None
    """Names of the tools that the asker could use then: a later start gives no others; None: not
    known, before a run is made."""
    platform: str = ""
    """The kind of chat platform. This and what follows is for other processes, which cannot look it
    up; all of it is empty where no work is shared."""
    provider_id: str = ""
    """The chat model's provider that the chat used then."""
    model: str = ""
    """The model that was picked for this turn alone."""
    profile: str = ""
    """The configuration of the platform that holds for the chat."""
