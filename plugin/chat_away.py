"""A chat that belongs to another process: what its children's tools find in its place."""

from astrbot.api.event import MessageChain
from astrbot.api.platform import PlatformMetadata
from astrbot.core.platform.message_session import MessageSession

from ..manager.models import Origin


class ChatAway(Exception):
    """A tool wanted to send something to a chat that cannot be reached from here."""

    def __init__(self) -> None:
        super().__init__(
            "This task is executed by another process than the one its chat belongs to, so nothing "
            "can be sent to the chat from here. Put what the user should see into your result. "
            "(For the bot's owner: name the tool in `workers.pinned_tools`.)"
        )


async def refuse_to_send(message: MessageChain) -> None:
    """Stands in the place of an event's `send`.

    Raises:
        ChatAway: Always. This process may have a chat of the same id, which must not get it.
    """
    raise ChatAway


def platform_of(session: MessageSession, origin: Origin) -> PlatformMetadata | None:
    """The platform of the chat, as far as it is known."""
    if not origin.platform:
        return None
    return PlatformMetadata(name=origin.platform, description="", id=session.platform_id)
