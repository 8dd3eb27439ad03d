"""Adds up what the parts of a test run did, and names what did not run.

The figures come from the notes of ``count_tests.py``, never from pytest's printed lines.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

__all__ = ["Summary"]


@dataclass(slots=True, kw_only=True)
class Summary:
    """What all parts of a test run did so far."""

    outcomes: Counter[str] = field(default_factory=Counter)
    """``passed``, ``failed``, ``skipped`` -> how many tests, a test once per part."""
    ran: set[str] = field(default_factory=set)
    """Ids of the tests that ran in some part."""
    skips: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Id of a skipped test -> the service it lacks, if any, and the reason."""
    lost: list[str] = field(default_factory=list)
    """Parts that did not run or broke off."""

    def add(self, notes: Iterable[Mapping[str, str]]) -> bool:
        """Add the notes of one part.

        Returns:
            Whether one of its tests failed.
        """
        outcomes: dict[str, str] = {}
        for note in notes:
            test, outcome = note["test"], note["outcome"]
            # A test that passed and then failed in its teardown has failed.
            if outcomes.get(test) != "failed":
                outcomes[test] = outcome
            if outcome == "skipped":
                self.skips[test] = (note["service"], note["reason"])
            else:
                self.ran.add(test)
        self.outcomes.update(outcomes.values())
        return "failed" in outcomes.values()

    def lose(self, part: str, reason: str) -> None:
        """Note that a part did not run to its end: that is one failure more."""
        self.outcomes["failed"] += 1
        self.lost.append(f"{part} ({reason})")

    def not_run(self) -> list[str]:
        """What did not run anywhere, each with the reason.

        A test that is skipped with one AstrBot and runs with another did run.
        """
        skips = Counter(skip for test, skip in self.skips.items() if test not in self.ran)
        services = sorted({f"{service} ({why})" for service, why in skips if service})
        others = [
            f"{n} skipped ({why})" for (service, why), n in sorted(skips.items()) if not service
        ]
        return [*self.lost, *services, *others]

    def lines(self) -> Iterator[str]:
        """The last two lines of a test run's output."""
        yield ", ".join(f"{self.outcomes[name]} {name}" for name in ("passed", "failed", "skipped"))
        yield f"not run: {', '.join(self.not_run()) or 'nothing'}"
