"""By which paths and URLs the main agent knows the images of its turn's message.

AstrBot makes local files of a message's images before it asks the model, and tells the model the
path: 4.26 that of the picture it made smaller, which stands in the request too, 4.29 that of the
original. Images of a quoted message count, and those that were sent as files.
"""

from collections.abc import Iterable, Iterator

from astrbot.core.message.components import BaseMessageComponent, File, Image, Reply

from .turn_handle import TurnHandle


def message_images(handle: TurnHandle) -> tuple[str, ...]:
    """List them, in the order of the message; files that are no images may be among them."""
    request = handle.provider_request
    found = (
        *_of_parts(handle.event.get_messages()),
        *(request.image_urls if request is not None else ()),
    )
    return tuple(dict.fromkeys(each for each in found if each))


def _of_parts(parts: Iterable[BaseMessageComponent]) -> Iterator[str | None]:
    for part in parts:
        if isinstance(part, Image):
            yield from (part.path, part.url, part.file)
        elif isinstance(part, File):
            # Its property `file` would fetch the file, and may not be used in a running loop.
            yield from (part.file_, part.url)
        elif isinstance(part, Reply):
            yield from _of_parts(part.chain or ())
