"""Figures of the benchmark: collected, written as JSON lines, shown as a table."""

import json
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One measured value."""

    workload: str
    subject: str
    n: int
    metric: str
    value: float
    at_most: float | None = None
    """What the value is to be kept below; None: it is only looked at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """What one repetition cost."""

    wall_seconds: float
    cpu_seconds: float


def figures(
    workload: str, subject: str, *, n: int, samples: Sequence[Sample], ideal_seconds: float
) -> list[Figure]:
    """The figures of one subject; each sample covers `n` runs.

    The medians are taken, so that a single hiccup of the machine does not count.
    """
    wall = statistics.median(sample.wall_seconds for sample in samples)
    cpu = statistics.median(sample.cpu_seconds for sample in samples)
    values = {
        "ms_median": wall * 1000,
        "cpu_ms_per_run": cpu * 1000 / n,
    }
    if ideal_seconds:
        values["ratio"] = wall / ideal_seconds
    return [
        Figure(workload=workload, subject=subject, n=n, metric=metric, value=round(value, 3))
        for metric, value in values.items()
    ]


def write(all_figures: Sequence[Figure], path: Path) -> None:
    """Write one JSON object per line; `at_most` is there where there is a limit."""
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = map(asdict, all_figures)
    lines = [json.dumps({k: v for k, v in row.items() if v is not None}) for row in rows]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def table(all_figures: Sequence[Figure]) -> str:
    """The figures as a table: a line for each subject, a column for each metric."""
    metrics = list(dict.fromkeys(figure.metric for figure in all_figures))
    rows: dict[tuple[str, str, int], dict[str, float]] = {}
    for figure in all_figures:
        row = rows.setdefault((figure.workload, figure.subject, figure.n), {})
        row[figure.metric] = figure.value
    head = f"{'workload':<10}{'subject':<18}{'n':>5}" + "".join(f"{m:>19}" for m in metrics)
    body = [
        f"{workload:<10}{subject:<18}{n:>5}"
        + "".join(f"{row[m]:>19.3f}" if m in row else f"{'-':>19}" for m in metrics)
        for (workload, subject, n), row in rows.items()
    ]
    return "\n".join([head, *body])


def verdicts(all_figures: Sequence[Figure]) -> str:
    """Each figure that has a limit, with its limit, one a line."""
    return "\n".join(
        f"{each.workload} {each.subject} {each.metric}: {each.value:.3f}, at most {each.at_most:g}"
        f"{'' if each.value <= each.at_most else '  EXCEEDED'}"
        for each in all_figures
        if each.at_most is not None
    )
