"""Images that a model hands to a sub-agent: all are checked, and kept, before anything starts.

What is admitted is a copy in the chat's own folder, named by its content. AstrBot removes the
images of a message at the end of its turn, while a run may wait, go on in the background, or be
taken up after a restart; and what was checked is what the child gets to see.

It knows nothing of AstrBot: what a message held is passed in (`image_message.py`).
"""

import asyncio
import re
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import SpooledTemporaryFile

from yarl import URL

from ..manager.errors import InvalidArgument
from .image_content import Refused, decode_base64
from .image_fetch import TIME_LIMIT_SECONDS, fetch_image
from .image_files import read_image_file
from .image_store import StagedImage, keep, stage

MOST_IMAGES = 16

type Fetch = Callable[[str], Awaitable[bytes]]
"""Gets the content of an http or https URL; raises `Refused`."""

_FIELD = "image_urls"
_AT_ONCE = 4
"""How many images are read side by side; each may be in memory while it is."""
_IN_MEMORY = 256 * 1024
"""Images up to this size in bytes wait in memory, larger ones in a nameless file."""

_INLINE = re.compile(r"base64://|data:image/[^,]*;base64,", re.IGNORECASE)
_DATA = re.compile(r"data:", re.IGNORECASE)
_WEB = re.compile(r"https?://", re.IGNORECASE)
_ANY_URL = re.compile(r"[a-z][a-z0-9+.-]+:/", re.IGNORECASE)
_LOGIN_OR_QUERY = re.compile(r"[^/\s]*@|[?#].*", re.DOTALL)
_SHOWN_START, _SHOWN_END = 60, 20
"""How many characters of a long reference an error text shows."""


async def admit_images(
    refs: Sequence[str],
    *,
    message_images: Sequence[str] = (),
    roots: Sequence[Path],
    folder: Path,
    fetch: Fetch = fetch_image,
    seconds: float = TIME_LIMIT_SECONDS,
) -> tuple[str, ...]:
    """Check all images that a model named, and keep them; one that is bad means none is kept.

    Args:
        refs: Paths, `file://` and http(s) URLs, `base64://` and `data:` references.
        message_images: Paths and URLs of the current message's images: they may be read wherever
            they lie, but a URL only like any other.
        roots: Folders in which any image file may be read.
        folder: The chat's own folder; it need not exist.
        fetch: Gets what a URL leads to.
        seconds: How long all of it may take.

    Returns:
        Absolute paths of image files, in the order in which they were named, without doubles.

    Raises:
        InvalidArgument: With the reference, what is wrong with it and what is allowed.
    """
    wanted = tuple(dict.fromkeys(refs))
    if len(wanted) > MOST_IMAGES:
        raise InvalidArgument(
            _FIELD, f"{len(wanted)} images: are too many; at most {MOST_IMAGES} are allowed"
        )
    reader = _Reader(
        message_images=tuple(message_images),
        roots=tuple(roots),
        fetch=fetch,
        deadline=asyncio.get_running_loop().time() + seconds,
        turnstile=asyncio.Semaphore(_AT_ONCE),
    )
    with ExitStack() as spools:
        staged = await _all(
            reader.admit(ref, spools.enter_context(SpooledTemporaryFile(max_size=_IN_MEMORY)))
            for ref in wanted
        )
        unique = tuple({image.name: image for image in staged}.values())
        try:
            return await keep(unique, folder)
        except OSError as error:
            problem = f"all images: cannot be kept ({error.strerror}); go on without images"
            raise InvalidArgument(_FIELD, problem) from error


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reader:
    """Reads what a reference leads to, and makes its error texts."""

    message_images: tuple[str, ...]
    roots: tuple[Path, ...]
    fetch: Fetch
    deadline: float
    turnstile: asyncio.Semaphore

    async def admit(self, ref: str, spool: SpooledTemporaryFile[bytes]) -> StagedImage:
        try:
            async with asyncio.timeout_at(self.deadline), self.turnstile:
                content = await self._read(ref)
                return await asyncio.to_thread(stage, content, spool)
        except Refused as refused:
            raise InvalidArgument(_FIELD, f"{shown(ref)}: {refused}") from None
        except TimeoutError:
            problem = "could not be read in time; give fewer images, or one that is near"
            raise InvalidArgument(_FIELD, f"{shown(ref)}: {problem}") from None

    async def _read(self, ref: str) -> bytes:
        if inline := _INLINE.match(ref):
            return await asyncio.to_thread(decode_base64, ref[inline.end() :])
        if _DATA.match(ref):
            raise Refused("is no base64 image", allowed="`data:image/...;base64,...` is allowed")
        if _WEB.match(ref):
            return await self.fetch(ref)
        return await asyncio.to_thread(
            read_image_file, ref, message_images=self.message_images, roots=self.roots
        )


def shown(ref: str) -> str:
    """Name a reference in a text: short, on one line, without a login or a query."""
    if _INLINE.match(ref) or _DATA.match(ref):
        return f"inline image of {len(ref)} characters"
    text = ref[:4096]
    if _ANY_URL.match(text):
        try:
            url = URL(text)
            text = f"{url.scheme}://{url.host or ''}{url.path}"
        except ValueError:
            text = text.partition(":")[0] + "://..."
    else:
        text = _LOGIN_OR_QUERY.sub("", text)
    if len(text) > _SHOWN_START + _SHOWN_END:
        text = f"{text[:_SHOWN_START]}...{text[-_SHOWN_END:]}"
    return repr(text)


async def _all[T](works: Iterable[Coroutine[object, object, T]]) -> list[T]:
    """Do all of it side by side; the first failure ends the rest and is raised alone."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(work) for work in works]
    except ExceptionGroup as failures:
        raise failures.exceptions[0] from None
    return [task.result() for task in tasks]
