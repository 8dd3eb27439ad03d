"""What the doctor of a store found, as frozen records; `doctor.py` makes them."""

from dataclasses import dataclass
from enum import StrEnum


class FindingKind(StrEnum):
    """What a finding is about."""

    SCHEMA = "schema"
    """The tables are not those of this version."""
    FILE = "file"
    """The SQLite file itself is damaged."""
    DAMAGED = "damaged"
    """No record can be made of a row."""
    ORPHAN = "orphan"
    """Something is there whose owner is not."""
    GAP = "gap"
    """A conversation lacks messages."""
    UNFINISHED = "unfinished"
    """A run is under way, or was."""
    SPACE = "space"
    """A file is larger than what it holds."""


_INFORMATION = frozenset({FindingKind.GAP, FindingKind.UNFINISHED, FindingKind.SPACE})


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that was found."""

    kind: FindingKind
    table: str = ""
    """"" where it is about the whole."""
    key: str = ""
    """Which rows: names and values of key columns, as `run_id=abc`."""
    problem: str
    remedy: str
    """What would be done, or what people can do."""
    mendable: bool = False
    """Whether mending does it."""

    @property
    def is_problem(self) -> bool:
        """Whether anything is wrong; else it is only good to know."""
        return self.kind not in _INFORMATION


@dataclass(frozen=True, slots=True, kw_only=True)
class TableSize:
    """What a table holds."""

    table: str
    rows: int
    content_bytes: int
    """Of the values alone, without indexes and what the database adds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreSize:
    """What a store takes on the disk, in bytes."""

    total: int
    """The file without its WAL; on a server all tables with their indexes."""
    free: int = 0
    """Inside a file, kept for later."""
    wal: int = 0
    """What stands in the file beside it that is not yet in the file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """All that was found, and what was done about it."""

    schema: str
    """Revision of the tables, "" where there are none."""
    findings: tuple[Finding, ...]
    """What there is now; after mending, what is left."""
    mended: tuple[Finding, ...] = ()
    """What was mended."""
    tables: tuple[TableSize, ...] = ()
    """Empty where the rows could not be looked at."""
    size: StoreSize

    @property
    def is_sound(self) -> bool:
        """Whether nothing is wrong."""
        return not any(finding.is_problem for finding in self.findings)
