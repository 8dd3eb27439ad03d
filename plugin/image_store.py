"""Keeps admitted images in a chat's folder, each under a name made of its content.

An image first waits in a nameless file, which vanishes by itself, until all images of a call are
known to be good; only then is anything written that has a name.
"""

import asyncio
import hashlib
import secrets
import shutil
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from .image_content import suffix_of

IMAGES_FOLDER = "_images"
"""Within the chat's folder; no sub-agent has a name, and so a folder, like this."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedImage:
    """An image that was found to be good."""

    name: str
    """The hash of its content, and a suffix for its kind."""
    content: IO[bytes]


def stage(content: bytes, file: IO[bytes]) -> StagedImage:
    """Put an image into a file of the caller's, where it waits.

    Raises:
        Refused: It is no image.
    """
    suffix = suffix_of(content)
    file.write(content)
    return StagedImage(name=f"{hashlib.sha256(content).hexdigest()}.{suffix}", content=file)


async def keep(images: Sequence[StagedImage], folder: Path) -> tuple[str, ...]:
    """Write all images into the chat's folder; when one cannot be written, none stays.

    Args:
        images: With different names.
        folder: The chat's folder; it is made when it is missing.

    Returns:
        Absolute paths, in the same order.

    Raises:
        OSError: The disk is full, or the folder cannot be written.
    """
    made: list[Path] = []
    work = asyncio.create_task(asyncio.to_thread(_write_all, images, folder, made))
    try:
        return await asyncio.shield(work)
    except BaseException:
        # A thread cannot be cancelled: only when it is done is it known what must go.
        await asyncio.gather(work, return_exceptions=True)
        for path in made:
            path.unlink(missing_ok=True)
        raise


def _write_all(images: Sequence[StagedImage], folder: Path, made: list[Path]) -> tuple[str, ...]:
    place = _images_folder(folder) if images else folder
    return tuple(str(_write(image, place, made)) for image in images)


def _images_folder(folder: Path) -> Path:
    place = folder.resolve() / IMAGES_FOLDER
    place.mkdir(parents=True, exist_ok=True)
    if place.is_symlink():
        raise NotADirectoryError(None, f"{IMAGES_FOLDER} is a link")
    return place


def _write(image: StagedImage, place: Path, made: list[Path]) -> Path:
    path = place / image.name
    part = place / f".{secrets.token_hex(8)}.part"
    try:
        with part.open("xb") as file:
            image.content.seek(0)
            shutil.copyfileobj(image.content, file)
        if not path.exists():
            made.append(path)
        # Also over a file that is there: nobody knows whether it still is what its name says.
        part.replace(path)
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)
    return path
