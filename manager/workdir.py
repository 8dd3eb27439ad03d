"""Where a sub-agent works: a folder inside allowed roots, and nowhere else."""

import hashlib
import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from .errors import InvalidArgument
from .models import AgentName, RunId, SessionId

_SAFE_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_LONGEST_NAME = 64
_TASKS_FOLDER = "_tasks"
"""Within the session's folder; no sub-agent has a name, and so a folder, like this."""
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


def session_folder(root: Path, session: SessionId) -> Path:
    """The session's own folder: a readable part and a hash, so that no two chats share one."""
    readable = _UNSAFE.sub("_", session).strip("._")[:40]
    digest = hashlib.sha256(session.encode(errors="surrogatepass")).hexdigest()[:16]
    return root / f"{readable}-{digest}"


def default_workdir(root: Path, session: SessionId, name: AgentName) -> Path:
    """The folder of an agent for which none was named.

    The platform's own static agents may have any name; such a name becomes a safe folder.
    """
    folder = session_folder(root, session)
    # a long name is hashed too: file systems end at 255 bytes
    is_safe = _SAFE_NAME.fullmatch(name) and len(name) <= _LONGEST_NAME
    return folder / name if is_safe else session_folder(folder, SessionId(name))


def copy_folder(root: Path, session: SessionId, run_id: RunId) -> Path:
    """The folder of an unnamed copy, for one run."""
    return session_folder(root, session) / _TASKS_FOLDER / run_id


def remove_if_empty(folder: Path) -> None:
    """Remove a folder in which nothing was made; one that is missing or in use stays as it is."""
    with suppress(OSError):
        folder.rmdir()


def checked_workdir(wanted: str, allowed: Sequence[Path], *, private: Path) -> str:
    """Check a folder that came in from outside.

    Args:
        wanted: An absolute path; it need not exist.
        allowed: Folders in which it may lie, themselves included; the session's own comes first.
        private: Where all sessions have their folders: only the own one may be used, whatever
            else is allowed, and it may not be a link to another.

    Returns:
        The real path, links resolved.

    Raises:
        InvalidArgument: It is relative, lies elsewhere, or is not a folder.
    """
    roots = ", ".join(str(root) for root in allowed)
    if "\0" in wanted or not Path(wanted).is_absolute():
        raise InvalidArgument("workdir", f"must be an absolute path inside one of: {roots}")
    try:
        real = Path(wanted).resolve()
        inside = any(real.is_relative_to(root.resolve()) for root in allowed)
        if real.is_relative_to(private.resolve()):
            inside = real.is_relative_to(private.resolve() / allowed[0].name)
        is_file = inside and real.exists() and not real.is_dir()
    except (OSError, RuntimeError) as error:
        raise InvalidArgument("workdir", f"cannot be resolved ({error})") from error
    if not inside:
        raise InvalidArgument("workdir", f"must lie inside one of: {roots}")
    if is_file:
        raise InvalidArgument("workdir", "is a file, not a folder")
    return str(real)


def make_workdir(path: str, allowed: Sequence[Path], *, private: Path) -> str:
    """Make the folder when a run starts, and check once more where it really lies.

    Raises:
        InvalidArgument: It cannot be made, or a link now leads elsewhere.
    """
    checked = Path(checked_workdir(path, allowed, private=private))
    try:
        checked.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidArgument("workdir", f"cannot be made ({error.strerror or error})") from error
    return checked_workdir(str(checked), allowed, private=private)
