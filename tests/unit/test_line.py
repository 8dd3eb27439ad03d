"""The line: first in, first out, under two caps, one run of a conversation at a time."""

from collections import Counter
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from astrbot_plugin_subagents.manager import RunId, SessionId
from astrbot_plugin_subagents.manager.models import ConversationId
from astrbot_plugin_subagents.manager.runs.line import Caps, Line, Ticket


@dataclass
class Queue:
    """A line under caps that a test may change."""

    per_session: int = 2
    total: int = 3
    tickets: dict[str, Ticket] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.line = Line(lambda: Caps(per_session=self.per_session, total=self.total))

    def join(self, run: str, conversation: str = "", session: str = "chat") -> None:
        self.tickets[run] = Ticket(
            run_id=RunId(run),
            session=SessionId(session),
            conversation=ConversationId(conversation or run),
        )
        self.line.join(self.tickets[run])

    def leave(self, *runs: str) -> None:
        for run in runs:
            self.line.leave(RunId(run))
            del self.tickets[run]

    @property
    def working(self) -> list[str]:
        return [run for run, ticket in self.tickets.items() if ticket.ready.done()]

    @property
    def waiting(self) -> list[str]:
        places = {run: self.line.position(RunId(run)) for run in self.tickets}
        found = [run for run, place in places.items() if place is not None]
        return sorted(found, key=lambda run: places[run] or 0)


async def test_those_who_come_first_work_and_the_rest_see_their_place() -> None:
    queue = Queue()
    for run in "abcd":
        queue.join(run)

    assert (queue.working, queue.waiting) == (["a", "b"], ["c", "d"])
    assert [queue.line.position(RunId(run)) for run in "abcdx"] == [None, None, 1, 2, None]
    queue.leave("a")
    assert (queue.working, queue.waiting) == (["b", "c"], ["d"])


async def test_the_cap_of_the_process_holds_over_all_sessions() -> None:
    queue = Queue()
    for run, session in zip("abcd", "1122", strict=True):
        queue.join(run, session=session)

    assert (queue.working, queue.waiting) == (["a", "b", "c"], ["d"])
    assert queue.line.counts() == (3, 1)
    assert queue.line.free_places(SessionId("3")) == 0


async def test_a_full_session_keeps_no_other_waiting() -> None:
    queue = Queue()
    for run in "abc":
        queue.join(run)
    queue.join("x", session="other")

    assert (queue.working, queue.waiting) == (["a", "b", "x"], ["c"])


async def test_one_conversation_is_one_line_in_its_order() -> None:
    queue = Queue()
    queue.join("a1", "a")
    queue.join("a2", "a")
    queue.join("a3", "a")
    queue.join("b1", "b")

    assert (queue.working, queue.waiting) == (["a1", "b1"], ["a2", "a3"])
    queue.leave("a1")
    assert (queue.working, queue.waiting) == (["a2", "b1"], ["a3"])


async def test_whoever_gives_up_lets_those_behind_come_forward() -> None:
    queue = Queue(per_session=1)
    queue.join("a1", "a")
    queue.join("a2", "a")
    queue.join("b1", "b")

    queue.leave("a2")
    assert queue.waiting == ["b1"]
    queue.leave("a1")
    assert queue.working == ["b1"]


async def test_more_room_is_used_when_the_line_is_looked_at_again() -> None:
    queue = Queue(per_session=1)
    for run in "abc":
        queue.join(run)
    queue.per_session = 3

    queue.line.admit()

    assert queue.working == ["a", "b", "c"]


async def test_less_room_stops_nobody_who_works() -> None:
    queue = Queue(per_session=2)
    for run in "abc":
        queue.join(run)
    queue.per_session = 1

    queue.leave("a")

    assert (queue.working, queue.waiting) == (["b"], ["c"])
    assert queue.line.free_places(SessionId("chat")) == 0


async def test_an_unknown_run_leaves_nothing() -> None:
    queue = Queue()
    queue.join("a")

    queue.line.leave(RunId("x"))

    assert queue.line.counts() == (1, 0)


STEPS = st.lists(
    st.tuples(st.sampled_from("jjl"), st.integers(0, 7), st.integers(0, 3), st.integers(0, 2)),
    max_size=40,
)


@pytest.mark.filterwarnings("ignore::hypothesis.errors.NonInteractiveExampleWarning")
@settings(max_examples=60)
@given(steps=STEPS, per_session=st.integers(1, 3), total=st.integers(1, 4))
async def test_whatever_happens_caps_and_order_hold(
    steps: list[tuple[str, int, int, int]], per_session: int, total: int
) -> None:
    queue = Queue(per_session=per_session, total=total)
    for number, (kind, pick, conversation, session) in enumerate(steps):
        if kind == "j":
            queue.join(f"{number}", f"{session}/{conversation}", session=f"{session}")
        elif queue.tickets:
            queue.leave(list(queue.tickets)[pick % len(queue.tickets)])
        check(queue)


def check(queue: Queue) -> None:
    working = [queue.tickets[run] for run in queue.working]
    sessions = Counter(ticket.session for ticket in working)
    conversations = [ticket.conversation for ticket in working]
    assert len(working) <= queue.total
    assert all(count <= queue.per_session for count in sessions.values())
    assert len(conversations) == len(set(conversations))
    assert queue.line.counts() == (len(working), len(queue.tickets) - len(working))
    ahead: set[str] = set()
    for run in queue.waiting:
        ticket = queue.tickets[run]
        could = (
            len(working) < queue.total
            and sessions[ticket.session] < queue.per_session
            and ticket.conversation not in conversations
            and ticket.conversation not in ahead
        )
        assert not could
        ahead.add(ticket.conversation)
    for ticket in working:
        older = [run for run in queue.tickets if queue.tickets[run] is not ticket]
        before = older[: list(queue.tickets.values()).index(ticket)]
        assert not any(queue.tickets[run].conversation == ticket.conversation for run in before)
