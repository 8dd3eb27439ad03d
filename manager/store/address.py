"""Where a store is: a file, or a PostgreSQL server. It connects to nothing.

A server's address holds a password, so it is a secret: it is in no error text and in no `repr`.
"""

from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from ..errors import StoreUnavailable

_POSTGRES = ("postgresql", "postgres", "postgresql+asyncpg")
_SQLITE = ("sqlite:///", "sqlite+aiosqlite:///")


@dataclass(frozen=True, slots=True, kw_only=True)
class FileAddress:
    """A SQLite file."""

    path: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerAddress:
    """A PostgreSQL database."""

    dsn: str = field(repr=False)
    """As libpq and asyncpg know it. Parameters they do not know, such as `search_path`, are
    settings of the connection."""


def parse_address(address: str | Path) -> FileAddress | ServerAddress:
    """Read a path or a database URL.

    Args:
        address: A path, or a URL: `postgresql://`, `postgres://`, `postgresql+asyncpg://`,
            `sqlite:///` with a path. In a text a path may begin with `~`.

    Raises:
        StoreUnavailable: It is neither, or cannot be; the text does not repeat it.
    """
    if isinstance(address, Path):
        return FileAddress(path=address)
    if any(each == "\0" or "\ud800" <= each <= "\udfff" for each in address):
        raise StoreUnavailable("its address holds a character that no path and no URL can have")
    for prefix in _SQLITE:
        if address.startswith(prefix):
            return FileAddress(path=_path(address.removeprefix(prefix)))
    if "://" not in address:
        return FileAddress(path=_path(address))
    return ServerAddress(dsn=_dsn(address))


def _path(text: str) -> Path:
    try:
        return Path(text).expanduser()
    except RuntimeError:
        raise StoreUnavailable(
            "its address begins with ~, and the home folder that this stands for is not known"
        ) from None


def _dsn(url: str) -> str:
    try:
        parts = urlsplit(url)
        readable = parts.scheme in _POSTGRES and parts.port != 0 and not parts.fragment
        query = parse_qsl(parts.query, keep_blank_values=True)
    except ValueError:
        readable = False
    if not readable:
        raise StoreUnavailable(
            "its address must be a path or a URL such as postgresql://user:password@host:5432/name,"
            " with special characters of the password written as %40"
        )
    # SQLAlchemy's name of the parameter, and libpq's.
    renamed = [("sslmode" if name == "ssl" else name, value) for name, value in query]
    return urlunsplit(("postgresql", parts.netloc, parts.path, urlencode(renamed), ""))
