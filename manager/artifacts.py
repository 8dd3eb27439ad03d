"""Artifacts: what a child's tools made is copied into the session's folder when its run ends.

Until then it lies where the host put it, which may be cleaned at any time. The host vouches for the
paths it reports; a link, or anything but a plain file, is refused all the same, and nothing is
written outside the session's folder. Sending a copy to anyone is not done here.
"""

import asyncio
import logging
import os
import re
import secrets
import stat
from collections.abc import Collection
from contextlib import suppress
from dataclasses import replace
from pathlib import Path, PurePath

from .models import Artifact, Run, RunKind
from .workdir import copy_folder, remove_if_empty, session_folder

logger = logging.getLogger(__name__)

ARTIFACTS_FOLDER = "_artifacts"
"""Within the session's folder; no sub-agent has a name, and so a folder, like this."""
MOST_BYTES = 50 * 1024 * 1024
"""Of one file; a larger one is left out."""

_CHUNK = 1024 * 1024
_LONGEST_STEM, _LONGEST_SUFFIX = 40, 10
"""In characters; no character takes more than four bytes of a file system's 255."""
_UNSAFE = re.compile(r"[^\w.-]+")
# As Windows keeps them for itself, whatever comes behind a dot.
_DEVICE = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\.|$)", re.IGNORECASE)
# A pipe must not hold up the bot; a flag that a system lacks is left out.
_READ_FLAGS = (
    os.O_RDONLY
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_BINARY", 0)
)


async def keep_artifacts(run: Run, files: Path) -> Run:
    """Copy what a run made into its session's folder, and remove an unused folder of its own.

    Args:
        run: A run that is about to end.
        files: Where sessions have their folders.

    Returns:
        The run with the copies in the originals' places. One that could not be kept has the path
        "" and the name it would have had. It never fails.
    """
    if run.kind is RunKind.TASK:
        remove_if_empty(copy_folder(files, run.session, run.run_id))
    if not run.artifacts:
        return run
    return replace(run, artifacts=await asyncio.to_thread(_kept, run, files))


def _kept(run: Run, files: Path) -> tuple[Artifact, ...]:
    base, kept = session_folder(files, run.session), list[Artifact]()
    for made in run.artifacts:
        name = _unused_name(made, [item.name for item in kept])
        path = ""
        try:
            path = str(_copy(made.path, base, (ARTIFACTS_FOLDER, run.run_id), name))
        except (OSError, ValueError) as error:
            logger.warning("Run %s made %s, which cannot be kept: %s", run.run_id, name, error)
        kept.append(Artifact(kind=made.kind, path=path, name=name))
    return tuple(kept)


def _copy(source: str, base: Path, inner: tuple[str, ...], name: str) -> Path:
    with os.fdopen(_opened(source), "rb") as original:
        # only now: a run of which nothing can be kept gets no folder
        place = _own_folder(base, inner)
        part = place / f".{secrets.token_hex(8)}.part"
        try:
            with part.open("xb") as copy:
                left = MOST_BYTES
                while chunk := original.read(_CHUNK):
                    left -= len(chunk)
                    if left < 0:
                        raise OSError(f"it is larger than {MOST_BYTES} bytes")
                    copy.write(chunk)
            part.replace(place / name)
        finally:
            with suppress(OSError):
                part.unlink(missing_ok=True)
    return place / name


def _opened(source: str) -> int:
    """Open a plain file of a good size, and follow no link."""
    if Path(source).is_symlink():
        raise OSError("it is a link")
    opened = os.open(source, _READ_FLAGS)
    found = os.fstat(opened)
    problem = ""
    if not stat.S_ISREG(found.st_mode):
        problem = "it is no plain file"
    elif found.st_size > MOST_BYTES:
        problem = f"it is larger than {MOST_BYTES} bytes"
    if problem:
        os.close(opened)
        raise OSError(problem)
    return opened


def _own_folder(base: Path, inner: tuple[str, ...]) -> Path:
    """Make the folder, step by step: a child may have put a link in its way."""
    place = base.parent.resolve()
    for part in (base.name, *inner):
        place = place / part
        place.mkdir(parents=True, exist_ok=True)
        if place.is_symlink() or place.is_junction():
            raise OSError(f"{part} is a link")
    return place


def _unused_name(made: Artifact, used: Collection[str]) -> str:
    """A name for the copy that any file system takes and no other copy of the run has."""
    wanted = PurePath(_UNSAFE.sub("_", made.name or PurePath(made.path).name).strip("._-"))
    stem, suffix = wanted.stem[:_LONGEST_STEM], wanted.suffix[:_LONGEST_SUFFIX]
    if not stem or _DEVICE.match(stem):
        stem = f"file_{stem}".rstrip("_")
    taken = {name.casefold() for name in used}
    name, number = f"{stem}{suffix}", 2
    while name.casefold() in taken:
        name, number = f"{stem}_{number}{suffix}", number + 1
    return name
