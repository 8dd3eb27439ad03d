"""The command line for those who look after a store: doctor, export, import, vacuum.

`store_tool.py` in the root starts it. The address of a database server holds a password, so it is
taken from an environment variable or a file, never from the command line, and is never printed.

Exit codes: 0, all is well; 1, the doctor found something wrong; 2, it was asked wrongly; 3, it
could not be done.
"""

import argparse
import asyncio
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from ..errors import StoreLocked, SubAgentError
from ..models import SessionId
from .address import FileAddress, ServerAddress, parse_address
from .command_text import report_lines, size_text
from .doctor import examine
from .doctor_space import vacuum
from .transfer import Moved, export_sessions, import_sessions

_SERVER = re.compile(r"postgres(ql)?(\+\w+)?:", re.IGNORECASE)

SOUND, WRONG, ASKED_WRONGLY, FAILED = range(4)


@dataclass(frozen=True, slots=True, kw_only=True)
class Terminal:
    """What a command reads from and writes to."""

    input: TextIO
    output: TextIO
    errors: TextIO
    environment: Mapping[str, str]


class _AskedWronglyError(Exception):
    """The arguments do not fit together; the text says how they would."""


def main(arguments: Sequence[str], terminal: Terminal) -> int:
    """Run one command.

    Args:
        arguments: Without the name of the program.
        terminal: Where it talks to people.

    Returns:
        The exit code.
    """
    if any(map(_SERVER.search, arguments)):
        # Before anything else sees it: the parser repeats what it does not know.
        return _complain(
            terminal,
            "a database URL is a secret and must not stand in a command; put it into a file or an"
            " environment variable, and name that with --url-file or --url-env",
            ASKED_WRONGLY,
        )
    try:
        parsed = _parser().parse_args(arguments)
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else ASKED_WRONGLY
    try:
        return asyncio.run(_run(parsed, terminal))
    except _AskedWronglyError as error:
        return _complain(terminal, str(error), ASKED_WRONGLY)
    except StoreLocked as error:
        return _complain(terminal, f"{error} Stop the bot first.", FAILED)
    except SubAgentError as error:
        return _complain(terminal, str(error), FAILED)
    except BrokenPipeError:
        raise
    except OSError as error:
        return _complain(terminal, f"{error.filename}: {error.strerror}", FAILED)


async def _run(parsed: argparse.Namespace, terminal: Terminal) -> int:
    address = _address(parsed, terminal)
    match parsed.command:
        case "doctor":
            return await _doctor(address, parsed, terminal)
        case "export":
            await _export(address, parsed, terminal)
        case "import":
            await _import(address, parsed, terminal)
        case _:
            before, after = await vacuum(parse_address(address))
            terminal.output.write(f"before: {size_text(before)}\nafter: {size_text(after)}\n")
    return SOUND


async def _doctor(address: str | Path, parsed: argparse.Namespace, terminal: Terminal) -> int:
    if parsed.mend and not parsed.removed and isinstance(address, str):
        raise _AskedWronglyError("mending a database server needs --removed FILE")
    removed = Path(parsed.removed) if parsed.removed else None
    report = await examine(address, mend=parsed.mend, removed=removed)
    for line in report_lines(report, mending=parsed.mend):
        terminal.output.write(f"{line}\n")
    return SOUND if report.is_sound else WRONG


async def _export(address: str | Path, parsed: argparse.Namespace, terminal: Terminal) -> None:
    session = None if parsed.session is None else SessionId(parsed.session)
    if parsed.file == "-":
        moved = await export_sessions(address, terminal.output, session=session)
    else:
        with _new_file(Path(parsed.file)) as file:
            moved = await export_sessions(address, file, session=session)
    terminal.errors.write(f"exported: {_moved_text(moved)}\n")


async def _import(address: str | Path, parsed: argparse.Namespace, terminal: Terminal) -> None:
    if parsed.file == "-":
        moved = await import_sessions(address, terminal.input, replace=parsed.replace)
    else:
        with _old_file(Path(parsed.file)) as file:
            moved = await import_sessions(address, file, replace=parsed.replace)
    terminal.errors.write(f"imported: {_moved_text(moved)}\n")


def _moved_text(moved: Moved) -> str:
    text = f"{moved.sessions} sessions with {moved.rows} rows"
    if moved.interrupted:
        text += f"; tasks that were under way are interrupted: {moved.interrupted}"
    return text


def _address(parsed: argparse.Namespace, terminal: Terminal) -> str | Path:
    """A path, or the URL of a server as a text."""
    # `make` hands down a variable that was not given as an empty one.
    given = [each for each in (parsed.store, parsed.url_env, parsed.url_file) if each]
    if len(given) != 1:
        raise _AskedWronglyError("name one store: STORE, or --url-env, or --url-file")
    if parsed.store:
        place = parse_address(parsed.store)
        if isinstance(place, FileAddress):
            return place.path
        raise _AskedWronglyError("STORE must be a SQLite file")
    if parsed.url_env:
        url = terminal.environment.get(parsed.url_env, "")
    else:
        url = Path(parsed.url_file).read_text("utf-8", "replace")
    url = url.strip()
    if not url or not isinstance(parse_address(url), ServerAddress):
        raise _AskedWronglyError("what was named holds no URL of a PostgreSQL database")
    return url


@contextmanager
def _new_file(path: Path) -> Iterator[TextIO]:
    """A file for its owner's eyes only; it is removed when its content fails."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            yield file
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def _old_file(path: Path) -> TextIO:
    # Bytes that are no text are found as what they are: a line that cannot be taken.
    return path.open(encoding="utf-8", errors="surrogateescape")


def _complain(terminal: Terminal, text: str, code: int) -> int:
    terminal.errors.write(f"store: {text}\n")
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="store_tool.py", description="Looks after the store of the sub-agents plugin."
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    doctor = _command(commands, "doctor", "say what is wrong; change nothing without --mend")
    doctor.add_argument("--mend", action="store_true", help="mend it, with the bot stopped")
    doctor.add_argument(
        "--removed", metavar="FILE", help="where removed rows are kept (beside a SQLite file)"
    )
    export = _command(commands, "export", "write sessions as JSON lines")
    export.add_argument("--session", metavar="ID", help="this one only")
    export.add_argument("--file", default="-", help="a new file (standard output)")
    importing = _command(commands, "import", "read what export has written, with the bot stopped")
    importing.add_argument("--file", default="-", help="the file (standard input)")
    importing.add_argument("--replace", action="store_true", help="replace sessions that are there")
    _command(commands, "vacuum", "give free room in the file back, with the bot stopped")
    return parser


def _command(
    commands: "argparse._SubParsersAction[argparse.ArgumentParser]", name: str, what: str
) -> argparse.ArgumentParser:
    command = commands.add_parser(name, help=what, description=f"{what.capitalize()}.")
    command.add_argument("store", nargs="?", metavar="STORE", help="the SQLite file")
    command.add_argument("--url-env", metavar="NAME", help="variable with the URL of a server")
    command.add_argument("--url-file", metavar="FILE", help="file with the URL of a server")
    return command
