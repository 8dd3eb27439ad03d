"""Who sends a message, with the rights of now."""

from astrbot.api.event import AstrMessageEvent

from ..manager import Asker
from ..manager.models import OwnerId


def asker_of(event: AstrMessageEvent) -> Asker:
    """The sender of a message."""
    # A sender without an id must not pass for the bot, whose owner id is the empty one.
    return Asker(
        owner=OwnerId(event.get_sender_id() or f"nobody in {event.unified_msg_origin}"),
        is_admin=event.is_admin(),
        is_alone=not event.get_group_id(),
    )
