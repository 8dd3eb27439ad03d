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
    parked: list[str] = field(default_factory=list)
    back: set[str] = field(default_factory=set)
    """Those that were parked and have come back."""

    def __post_init__(self) -> None:
        self.line = Line(lambda: Caps(per_session=self.per_session, total=self.total))

    def join(self, run: str, conversation: str = "", session: str = "chat") -> None:
        self.line.join(self.ticket(run, conversation, session))

    def hold(self, run: str, conversation: str = "", session: str = "chat") -> None:
        self.line.hold(self.ticket(run, conversation, session))
        self.parked.append(run)

    def ticket(self, run: str, conversation: str, session: str) -> Ticket:
        self.tickets[run] = Ticket(
            run_id=RunId(run),
            session=SessionId(session),
            conversation=ConversationId(conversation or run),
        )
        return self.tickets[run]

    def park(self, run: str) -> None:
        self.line.park(RunId(run))
        self.parked.append(run)

    def unpark(self, run: str) -> None:
        self.parked.remove(run)
        self.back.add(run)
        assert self.line.unpark(RunId(run)) is self.tickets[run].ready

    def leave(self, *runs: str) -> None:
        for run in runs:
            self.line.leave(RunId(run))
            del self.tickets[run]
            if run in self.parked:
                self.parked.remove(run)

    @property
    def working(self) -> list[str]:
        done = [run for run, ticket in self.tickets.items() if ticket.ready.done()]
        return [run for run in done if run not in self.parked]

    @property
    def begun(self) -> list[str]:
        """Those that have or had a place: their conversations are theirs."""
        mine = {*self.working, *self.parked, *self.back}
        return [run for run in self.tickets if run in mine]

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


async def test_a_parked_run_frees_its_place_and_keeps_its_conversation() -> None:
    queue = Queue(per_session=1)
    queue.join("a1", "a")
    queue.join("a2", "a")
    queue.join("b1", "b")

    queue.park("a1")

    assert (queue.working, queue.waiting) == (["b1"], ["a2"])
    assert queue.line.counts() == (1, 1)
    assert queue.line.position(RunId("a1")) is None


async def test_who_comes_back_has_a_place_at_once_or_stands_ahead_of_new_ones() -> None:
    queue = Queue(per_session=1)
    queue.join("a")
    queue.park("a")
    queue.unpark("a")
    assert queue.working == ["a"]
    queue.park("a")
    queue.join("b")
    queue.join("c")

    queue.unpark("a")
    assert (queue.working, queue.waiting) == (["b"], ["a", "c"])
    assert queue.line.counts() == (1, 2)
    queue.leave("b")

    assert (queue.working, queue.waiting) == (["a"], ["c"])


async def test_who_comes_back_to_a_full_chat_keeps_no_other_chat_waiting() -> None:
    queue = Queue(per_session=1)
    queue.join("a")
    queue.park("a")
    queue.join("b")
    queue.unpark("a")

    queue.join("x", session="other")

    assert (queue.working, queue.waiting) == (["b", "x"], ["a"])


@pytest.mark.parametrize("comes_back", [False, True])
async def test_a_parked_run_that_gives_up_leaves_its_conversation_to_those_behind(
    comes_back: bool,
) -> None:
    queue = Queue(per_session=1)
    queue.join("a1", "a")
    queue.park("a1")
    queue.join("b1", "b")
    queue.join("a2", "a")
    if comes_back:
        queue.unpark("a1")

    queue.leave("a1")
    queue.leave("b1")

    assert (queue.working, queue.line.counts()) == (["a2"], (1, 0))


async def test_a_run_that_is_taken_up_parked_holds_its_conversation_and_no_place() -> None:
    queue = Queue(per_session=1)
    queue.hold("a1", "a")
    queue.join("a2", "a")
    queue.join("b1", "b")

    assert (queue.working, queue.waiting) == (["b1"], ["a2"])
    queue.unpark("a1")
    queue.leave("b1")

    assert (queue.working, queue.waiting) == (["a1"], ["a2"])


async def test_who_is_not_parked_has_a_place_and_who_does_not_work_is_not_parked() -> None:
    queue = Queue(per_session=1)
    queue.join("a")
    queue.join("b")

    queue.line.park(RunId("b"))
    queue.line.park(RunId("x"))

    assert queue.line.unpark(RunId("x")).done()
    assert (queue.working, queue.waiting) == (["a"], ["b"])


STEPS = st.lists(
    st.tuples(st.sampled_from("jjlpuh"), st.integers(0, 7), st.integers(0, 3), st.integers(0, 2)),
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
        elif kind == "h":
            # a run that is taken up is the only one of its conversation
            queue.hold(f"{number}", f"{number}", session=f"{session}")
        elif kind == "l" and queue.tickets:
            queue.leave(list(queue.tickets)[pick % len(queue.tickets)])
        elif kind == "p" and queue.working:
            queue.park(queue.working[pick % len(queue.working)])
        elif kind == "u" and queue.parked:
            queue.unpark(queue.parked[pick % len(queue.parked)])
        check(queue)


def check(queue: Queue) -> None:
    working = [queue.tickets[run] for run in queue.working]
    sessions = Counter(ticket.session for ticket in working)
    begun = [queue.tickets[run] for run in queue.begun]
    conversations = [ticket.conversation for ticket in begun]
    assert len(working) <= queue.total
    assert all(count <= queue.per_session for count in sessions.values())
    assert len(conversations) == len(set(conversations))
    rest = len(queue.tickets) - len(working) - len(queue.parked)
    assert queue.line.counts() == (len(working), rest) == (len(working), len(queue.waiting))
    ahead: set[str] = set()
    for run in queue.waiting:
        ticket = queue.tickets[run]
        could = (
            len(working) < queue.total
            and sessions[ticket.session] < queue.per_session
            and (run in queue.begun or ticket.conversation not in conversations)
            and ticket.conversation not in ahead
        )
        assert not could
        ahead.add(ticket.conversation)
    back = [run in queue.begun for run in queue.waiting]
    assert back == sorted(back, reverse=True)
    for ticket in begun:
        older = [run for run in queue.tickets if queue.tickets[run] is not ticket]
        before = older[: list(queue.tickets.values()).index(ticket)]
        assert not any(queue.tickets[run].conversation == ticket.conversation for run in before)
