"""What the command line says of a store, in plain English."""

from collections.abc import Iterator

from .doctor_report import Finding, Report, StoreSize

_UNITS = ("bytes", "KB", "MB", "GB", "TB")
_MOST_SHOWN = 50
"""Findings of one title that are shown; all are counted."""


def report_lines(report: Report, *, mending: bool) -> Iterator[str]:
    """What the doctor found, line by line."""
    yield f"schema {report.schema or 'none'}, {size_text(report.size)}"
    for table in report.tables:
        yield f"  {table.table:<14} {table.rows:>9} rows {amount(table.content_bytes):>12}"
    for title, findings in (
        ("Mended", report.mended),
        ("Wrong", tuple(each for each in report.findings if each.is_problem)),
        ("Good to know", tuple(each for each in report.findings if not each.is_problem)),
    ):
        if findings:
            yield ""
            yield f"{title}: {len(findings)}"
        for finding in findings[:_MOST_SHOWN]:
            yield from _finding_lines(finding)
        if len(findings) > _MOST_SHOWN:
            yield f"- and {len(findings) - _MOST_SHOWN} more"
    yield ""
    yield _verdict(report, mending=mending)


def size_text(size: StoreSize) -> str:
    """The size of a store."""
    parts = [amount(size.total)]
    if size.free:
        parts.append(f"{amount(size.free)} of it free")
    if size.wal:
        parts.append(f"{amount(size.wal)} in the file beside it (-wal)")
    return ", ".join(parts)


def amount(size: int) -> str:
    """A number of bytes for people."""
    value = float(size)
    for unit in _UNITS[:-1]:
        if value < 1024:
            return f"{value:.0f} {unit}" if unit == "bytes" else f"{value:.1f} {unit}"
        value /= 1024
    return f"{value:.1f} {_UNITS[-1]}"


def _finding_lines(finding: Finding) -> Iterator[str]:
    where = " ".join(part for part in (finding.table, finding.key) if part)
    yield f"- {finding.kind}{f' ({where})' if where else ''}: {finding.problem}"
    yield f"  {'mend' if finding.mendable else 'help'}: {finding.remedy}"


def _verdict(report: Report, *, mending: bool) -> str:
    if report.is_sound:
        return "Nothing is wrong."
    if not mending and any(each.mendable for each in report.findings):
        return "Nothing was changed. With the bot stopped, --mend does what stands behind `mend`."
    return "Nothing more can be mended here." if mending else "Nothing was changed."
