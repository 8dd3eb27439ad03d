"""The store's address as psycopg takes it, which the workforce and its signals connect with."""

from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

from psycopg.pq import Conninfo


def libpq_address(dsn: str) -> str:
    """Turn the address that asyncpg reads into one that libpq reads.

    libpq refuses a parameter that it does not know. To asyncpg such a one is a setting of the
    connection, `search_path` for example; here it becomes a part of `options`.

    Args:
        dsn: `ServerAddress.dsn`.
    """
    known = {each.keyword.decode() for each in Conninfo.get_defaults()}
    parts = urlsplit(dsn)
    kept: list[tuple[str, str]] = []
    options: list[str] = []
    for name, value in parse_qsl(parts.query, keep_blank_values=True):
        if name == "options":
            options.append(value)
        elif name in known:
            kept.append((name, value))
        else:
            options.append(f"-c {name}={_escaped(value)}")
    if options:
        kept.append(("options", " ".join(options)))
    return urlunsplit(parts._replace(query=urlencode(kept, quote_via=quote)))


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace(" ", "\\ ")
