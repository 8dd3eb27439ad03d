"""Disks that are full or take no writes, for a store that is open on them: no fake, the system's.

Both need rights that not every machine gives; where they are missing the test is skipped.
"""

import errno
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

DISK = "8m"
"""Room for a store with its WAL, which grows to 4 MB before it is put into the file."""
_BLOCK = bytes(4096)


@contextmanager
def small_disk(folder: Path) -> Iterator[None]:
    """Put a small, empty file system over a folder; what lay there is back at the end.

    Skips the test where none may be mounted.
    """
    if not _done("mount", "-t", "tmpfs", "-o", f"size={DISK}", "tmpfs", str(folder)):
        pytest.skip("no file system may be mounted here, so no disk can be full")
    try:
        yield
    finally:
        assert _done("umount", str(folder))


@contextmanager
def no_room(folder: Path) -> Iterator[None]:
    """Leave not a byte of room on the file system of a folder, which is to be small."""
    ballast = folder / "ballast"
    _fill(ballast)
    try:
        yield
    finally:
        ballast.unlink()


@contextmanager
def no_writes(*files: Path) -> Iterator[None]:
    """Refuse all writes to files, those of whoever has them open too.

    It is what a disk does that the system has made read-only after an error. Skips the test where
    the system cannot do that to a file.
    """
    names = [str(file) for file in files if file.exists()]
    if not _is_enforced(files[0].parent):
        pytest.skip("no open file can be made read-only here")
    assert _done("chattr", "+i", *names)
    try:
        yield
    finally:
        assert _done("chattr", "-i", *names)


def _fill(ballast: Path) -> None:
    with ballast.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(_BLOCK)
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise


def _is_enforced(folder: Path) -> bool:
    """Whether a file that is open already can be kept from being written."""
    probe = folder / "probe"
    with probe.open("wb", buffering=0) as file:
        try:
            if not _done("chattr", "+i", str(probe)):
                return False
            file.write(_BLOCK)
        except PermissionError:
            return True
        finally:
            _done("chattr", "-i", str(probe))
            probe.unlink()
    return False


def _done(*command: str) -> bool:
    """Run a program of the system; whether it is there and did what it was asked."""
    try:
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False
