"""Reads image files, and only those that a model may name.

A path is resolved first, links and all, and the file is then opened step by step from the allowed
folder down, following no link: whatever is swapped in between, what is read lies in that folder.
"""

import os
import re
import stat
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from urllib.request import url2pathname

from .image_content import MAX_BYTES, Refused, too_large

_FILE_URI = re.compile(r"file://(?:localhost)?(?=/)", re.IGNORECASE)
_URL = re.compile(r"[a-z][a-z0-9+.-]+://|data:", re.IGNORECASE)

# A pipe must not hold up the bot; a flag that a system lacks is left out.
_FILE_FLAGS = (
    os.O_RDONLY
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_BINARY", 0)
)
# A folder that may be passed through need not be readable.
_FOLDER_FLAGS = (
    getattr(os, "O_PATH", os.O_RDONLY)
    | getattr(os, "O_DIRECTORY", 0)
    | getattr(os, "O_NOFOLLOW", 0)
)


def read_image_file(ref: str, *, message_images: Iterable[str], roots: Sequence[Path]) -> bytes:
    """Read a file that a model named; whether it is an image is not looked at.

    Args:
        ref: An absolute path or a `file://` URI, or word for word one of `message_images`.
        message_images: Paths and URLs of the current message's images, wherever they lie.
        roots: Folders in which any file may be read.

    Raises:
        Refused: It lies elsewhere, is no regular file, too large, or cannot be read.
    """
    known = tuple(message_images)
    path = _path_of(ref)
    if path is None or not (Path(path).is_absolute() or ref in known):
        raise Refused("is neither an absolute path nor a URL", allowed=_allowed(roots))
    try:
        real = Path(os.path.realpath(path))
        folder = _folder(real, known, roots)
        with os.fdopen(_open(folder, real.relative_to(folder)), "rb") as file:
            return _read(file.fileno())
    except FileNotFoundError:
        raise Refused("does not exist", allowed=_allowed(roots)) from None
    except (OSError, ValueError):
        raise Refused("cannot be read", allowed=_allowed(roots)) from None


def _path_of(ref: str) -> str | None:
    if uri := _FILE_URI.match(ref):
        # AstrBot once wrote four slashes; more than one would name a host.
        return url2pathname("/" + ref[uri.end() :].lstrip("/"))
    return None if _URL.match(ref) else ref


def _folder(real: Path, message_images: Iterable[str], roots: Sequence[Path]) -> Path:
    if real in _files(message_images):
        return real.parent
    for root in map(os.path.realpath, roots):
        if real.is_relative_to(root):
            return Path(root)
    raise Refused("lies outside the allowed folders", allowed=_allowed(roots))


def _files(message_images: Iterable[str]) -> Iterator[Path]:
    for ref in message_images:
        # A message may hold something that no path can be; it is nobody's fault here.
        with suppress(ValueError):
            if path := _path_of(ref):
                yield Path(os.path.realpath(path))


def _open(folder: Path, inner: Path) -> int:
    if os.open not in os.supports_dir_fd:
        return _open_unstepped(folder / inner)
    *folders, name = inner.parts
    with ExitStack() as opened:
        at = os.open(folder, _FOLDER_FLAGS)
        opened.callback(os.close, at)
        for each in folders:
            at = os.open(each, _FOLDER_FLAGS, dir_fd=at)
            opened.callback(os.close, at)
        return os.open(name, _FILE_FLAGS, dir_fd=at)


def _open_unstepped(real: Path) -> int:
    # On Windows no file can be opened relative to a folder: look again what the path leads to.
    opened = os.open(real, _FILE_FLAGS)
    with ExitStack() as otherwise:
        otherwise.callback(os.close, opened)
        same = os.path.samestat(real.stat(), os.fstat(opened))
        if not same or Path(os.path.realpath(real)) != real:
            raise OSError
        otherwise.pop_all()
    return opened


def _read(opened: int) -> bytes:
    if not stat.S_ISREG(os.fstat(opened).st_mode):
        raise Refused("is no regular file", allowed="only image files are allowed")
    content = bytearray()
    while chunk := os.read(opened, MAX_BYTES + 1 - len(content)):
        content += chunk
    if len(content) > MAX_BYTES:
        raise too_large()
    return bytes(content)


def _allowed(roots: Sequence[Path]) -> str:
    places = ", ".join(map(str, roots))
    return f"allowed are images of this message and files inside: {places}"
