"""The live stream: at once, in the store's order, resumed without loss or doubles."""

import asyncio
import json
from contextlib import AsyncExitStack, aclosing

import pytest

from astrbot_plugin_subagents.dashboard_api import ApiProblem
from astrbot_plugin_subagents.manager.models import RunId, SessionId
from astrbot_plugin_subagents.manager.stored_event import StoredEvent
from astrbot_plugin_subagents.manager.testing import EPOCH
from support import core, dashboard

open_page = dashboard.open_page

LIVE_SECONDS = 0.2


def an_event(number: int, *, session: str = "chat", run_id: str | None = None) -> StoredEvent:
    """Something that happened."""
    return StoredEvent(
        session=SessionId(session),
        run_id=RunId(run_id) if run_id else None,
        kind="tool.started",
        payload={"name": f"tool{number}"},
        at=EPOCH,
    )


async def keep(page: dashboard.Page, *numbers: int, session: str = "chat") -> None:
    """Have another process keep events."""
    await page.it.store.add_events([an_event(number, session=session) for number in numbers])


def names(events: list[dict[str, object]]) -> list[str]:
    """The names in the payloads of events."""
    return [event["payload"]["name"] for event in events]  # type: ignore[index] # of `an_event`


async def test_what_happens_is_told_at_once_as_the_store_numbers_it(
    open_page: dashboard.OpenPage,
) -> None:
    page = await open_page()
    async with page.reader() as reader:
        turn = await page.it.turn()
        await page.it.create("scout", turn)
        page.it.clock.advance(LIVE_SECONDS)

        (event,) = await reader.events()

    assert reader.first == ": ping\n\n"
    assert event == {
        "id": 1,
        "session": "chat",
        "run_id": None,
        "kind": "agent.created",
        "at": "2030-01-01T12:00:00.000Z",
        "payload": {"name": "scout", "kind": "dynamic", "replaced": False},
    }


async def test_events_that_were_waiting_when_somebody_came_are_told_at_once(
    open_page: dashboard.OpenPage,
) -> None:
    page = await open_page()
    await page.it.create("scout", await page.it.turn())
    async with page.reader() as reader:
        page.it.clock.advance(LIVE_SECONDS)

        (event,) = await reader.events()

    assert event["kind"] == "agent.created"


async def test_without_readers_events_are_kept_as_rarely_as_ever(
    open_page: dashboard.OpenPage,
) -> None:
    page = await open_page()
    async with page.reader():
        pass
    await page.it.create("scout", await page.it.turn())

    page.it.clock.advance(1.9)
    await core.settled()
    before = await page.it.store.last_event_id()
    page.it.clock.advance(0.1)
    await core.settled()

    assert (before, await page.it.store.last_event_id()) == (0, 1)


async def test_a_reader_goes_on_after_the_last_event_that_it_had(
    open_page: dashboard.OpenPage,
) -> None:
    page = await open_page()
    await keep(page, *range(1, 8))

    async with page.reader(after="3") as by_query:
        first = await by_query.events()
    async with aclosing(page.api.stream({"after": "1"}, "5")) as chunks:
        by_header = [await anext(chunks), await anext(chunks)]

    assert by_query.first == ": ping\n\n"
    assert names(first) == ["tool4", "tool5", "tool6", "tool7"]
    assert names(dashboard.events_of(by_header[1])) == ["tool6", "tool7"]


async def test_a_reader_that_comes_back_misses_nothing_and_sees_nothing_twice(
    open_page: dashboard.OpenPage,
) -> None:
    page = await open_page()
    seen: list[str] = []
    after = "0"
    await keep(page, 1)
    for number in range(2, 40):
        async with page.reader(after=after) as reader:
            events = await reader.events()
        seen += names(events)
        after = str(events[-1]["id"])
        await keep(page, number)

    assert seen == [f"tool{number}" for number in range(1, 39)]


@pytest.mark.parametrize("after", ["2", "99"])
async def test_a_reader_that_cannot_go_on_is_told_to_read_anew(
    open_page: dashboard.OpenPage, after: str
) -> None:
    page = await open_page()
    await keep(page, 1, 2, 3, 4, 5)
    await page.it.store.delete_old(
        events_before=EPOCH, steps_before=EPOCH, runs_before=EPOCH, limit=100
    )
    await forget_first(page, 3)

    async with page.reader(after=after) as reader:
        await keep(page, 6)
        page.it.clock.advance(2)
        events = await reader.events()

    assert reader.first == "event: reset\ndata: {}\n\n"
    assert names(events) == ["tool6"]


async def forget_first(page: dashboard.Page, count: int) -> None:
    """Delete the oldest events as retention does."""
    await page.it.store.delete_old(
        events_before=EPOCH.replace(year=2031),
        steps_before=EPOCH,
        runs_before=EPOCH,
        limit=count,
    )


async def test_a_reader_of_one_run_hears_of_nothing_else(open_page: dashboard.OpenPage) -> None:
    page = await open_page()
    events = [
        an_event(1, run_id="a"),
        an_event(2, run_id="b"),
        an_event(3, session="other"),
        an_event(4, run_id="a"),
    ]
    async with page.reader(run_id="a") as of_run, page.reader(session="other") as of_session:
        await page.it.store.add_events(events)
        page.it.clock.advance(2)

        assert names(await of_run.events()) == ["tool1", "tool4"]
        assert names(await of_session.events()) == ["tool3"]


async def test_what_another_process_has_kept_is_told_within_two_seconds(
    open_page: dashboard.OpenPage,
) -> None:
    page = await open_page()
    async with page.reader() as reader:
        await keep(page, 1)
        page.it.clock.advance(2)
        first = await reader.events()
        await keep(page, 2)
        page.it.clock.advance(2)
        second = await reader.events()

    assert (names(first), names(second)) == (["tool1"], ["tool2"])


async def test_a_slow_reader_gets_everything_page_by_page(open_page: dashboard.OpenPage) -> None:
    page = await open_page()
    async with page.reader() as reader:
        for start in range(0, 1000, 50):
            await keep(page, *range(start, start + 50))
            page.it.clock.advance(2)

        chunks = [await reader.events() for _ in range(10)]

    assert [len(chunk) for chunk in chunks] == [100] * 10
    assert names([event for chunk in chunks for event in chunk]) == [
        f"tool{number}" for number in range(1000)
    ]


async def test_a_reader_that_hears_nothing_is_pinged(open_page: dashboard.OpenPage) -> None:
    page = await open_page()
    async with page.reader() as reader:
        pings = []
        for _ in range(2):
            next_chunk = asyncio.ensure_future(reader.chunk())
            await core.settled()
            page.it.clock.advance(14.9)
            await core.settled()
            assert not next_chunk.done()
            page.it.clock.advance(0.1)
            pings.append(await next_chunk)

    assert pings == [": ping\n\n", ": ping\n\n"]


async def test_closing_tells_every_reader_that_the_plugin_is_gone(
    open_page: dashboard.OpenPage,
) -> None:
    page = await open_page()
    async with page.reader() as one, page.reader() as other:
        waiting = asyncio.ensure_future(one.chunk())
        await core.settled()

        await page.api.close()

        assert await waiting == "event: gone\ndata: {}\n\n"
        assert await other.chunk() == "event: gone\ndata: {}\n\n"
        with pytest.raises(StopAsyncIteration):
            await one.chunk()
    with pytest.raises(ApiProblem) as refused:
        page.api.stream({}, None)
    assert refused.value.code == "gone"


async def test_a_stream_goes_on_once_the_store_can_be_read_again(
    open_page: dashboard.OpenPage,
) -> None:
    trouble = core.TroubledStore()
    page = await open_page(store=trouble.store)
    trouble.failing.add("last_event_id")
    async with aclosing(page.api.stream({}, None)) as chunks:
        first = asyncio.ensure_future(anext(chunks))
        await core.settled()
        assert not first.done()
        trouble.failing.clear()
        page.it.clock.advance(2)
        assert await first == "event: reset\ndata: {}\n\n"

        trouble.failing.add("events_after")
        await keep_in(trouble, 1)
        second = asyncio.ensure_future(anext(chunks))
        page.it.clock.advance(2)
        await core.settled()
        assert not second.done()
        trouble.failing.clear()
        page.it.clock.advance(2)

        assert names(dashboard.events_of(await second)) == ["tool1"]


async def keep_in(trouble: core.TroubledStore, number: int) -> None:
    """Have another process keep an event."""
    await trouble.inner.add_events([an_event(number)])


async def test_words_of_an_event_cannot_end_it(open_page: dashboard.OpenPage) -> None:
    page = await open_page()
    words = "a\n\nevent: gone\ndata: {}\r\n\r\n\u2028\ud800"
    async with page.reader() as reader:
        event = an_event(1)
        payload = {"name": words}
        await page.it.store.add_events([core.replace(event, payload=payload)])
        page.it.clock.advance(2)
        chunk = await reader.chunk()

    assert chunk.count("\n\n") == 1
    assert "\r" not in chunk
    (told,) = dashboard.events_of(chunk)
    assert told["payload"]["name"] == words.replace("\ud800", "\ufffd")
    assert json.dumps(told).isascii()


@pytest.mark.parametrize(
    "query", [{"after": "-1"}, {"after": "x"}, {"after": str(2**63)}, {"run": "x"}]
)
async def test_a_stream_that_is_asked_for_wrongly_is_refused_at_once(
    open_page: dashboard.OpenPage, query: dict[str, str]
) -> None:
    page = await open_page()

    with pytest.raises(ApiProblem) as refused:
        page.api.stream(query, None)

    assert (refused.value.status, list(refused.value.fields)) == (400, list(query))


async def test_events_are_no_reply(open_page: dashboard.OpenPage) -> None:
    page = await open_page()

    assert (await page.get_refused("/events")).status == 406


async def test_a_change_of_the_board_is_told(open_page: dashboard.OpenPage) -> None:
    page = await open_page()
    turn = await page.it.turn()
    async with page.reader(session="chat") as reader:
        await page.it.call(
            "send_shared_context_for_main_agent", turn, context_type="message", content="Hello."
        )
        page.it.clock.advance(LIVE_SECONDS)

        (event,) = await reader.events()

    assert (event["kind"], event["payload"]) == ("board.changed", {})


async def test_more_streams_than_anybody_needs_are_refused(open_page: dashboard.OpenPage) -> None:
    page = await open_page()
    async with AsyncExitStack() as stack:
        for _ in range(100):
            await stack.enter_async_context(page.reader())

        with pytest.raises(ApiProblem) as refused:
            page.api.stream({}, None)

    assert (refused.value.status, refused.value.code) == (503, "too_many_streams")
    async with page.reader() as reader:
        assert reader.first == ": ping\n\n"
