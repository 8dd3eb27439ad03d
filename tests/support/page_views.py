"""Every view of the page with much to show in it, and what is there once it is whole."""

from collections.abc import Iterator
from dataclasses import dataclass

from .big_store import BigStore
from .page_stage import place, run_place


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """One view."""

    name: str
    at: str
    """What stands behind `#/`."""
    selector: str
    """What is there, and filled, once the view is whole; in no language."""


def views(big: BigStore) -> Iterator[View]:
    """All of them, by their names."""
    chat = place("session", big.busiest)
    question = run_place(big.asking, big.busiest)
    yield View(name="overview", at="", selector=".overview-lists li")
    yield View(name="chats", at="sessions", selector="a.list-row")
    yield View(name="chat", at=chat, selector=".agent-body")
    yield View(name="timeline", at=f"{chat}?tab=timeline", selector=".gantt a")
    yield View(name="board", at=f"{chat}?tab=board", selector=".note-text")
    yield View(name="tasks", at="runs", selector="a.list-row")
    yield View(name="task", at=run_place(big.long_run, big.busiest), selector="article.message")
    yield View(name="question", at=question, selector="textarea")
    yield View(name="usage", at="usage", selector=".usage-totals")
    yield View(name="agents", at="agents", selector="h1")
    yield View(name="settings", at="settings", selector=".setting")


def view(big: BigStore, name: str) -> View:
    """One of them."""
    return next(each for each in views(big) if each.name == name)
