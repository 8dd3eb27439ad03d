"""The store's contract: looks over many sessions, for the people who run the bot."""

from dataclasses import replace

from astrbot_plugin_subagents.manager.models import (
    AgentKind,
    AgentName,
    DeliveryState,
    GroupId,
    Run,
    RunId,
    RunKind,
    RunState,
    SessionId,
    Usage,
)
from astrbot_plugin_subagents.manager.store import Store
from astrbot_plugin_subagents.manager.store.protocol import RunWrite
from astrbot_plugin_subagents.manager.store.protocol_pages import (
    RunSearch,
    SessionPage,
    SessionSummary,
    StoreCounts,
    UsageSum,
)
from support import stores
from support.stores import (
    CHAT,
    NOON,
    OTHER_CHAT,
    a_delivery,
    a_message,
    a_run,
    a_session,
    a_taken_run,
    an_agent,
    at,
)

store = stores.any_store
empty_file = stores.empty_file

FIVE = Usage(input=3, cached=1, output=1)


async def an_ended_run(
    store: Store, run_id: str, state: RunState = RunState.COMPLETED, **changes: object
) -> Run:
    """A run that is over, five minutes after noon unless said otherwise."""
    run = await a_taken_run(store, run_id, **changes)
    ended = replace(run, state=state, usage=FIVE, finished_at=at(5), steps=1, model="gpt")
    await store.write_run(RunWrite(run=ended, delivery=a_delivery(ended)))
    return ended


async def sessions(store: Store, text: str = "", **changes: object) -> SessionPage:
    """The first page of sessions on the day of the tests."""
    wanted = {"only": "all", "offset": 0, "limit": 10, **changes}
    return await store.pages.session_page(text=text, day=at(-60), **wanted)  # type: ignore[arg-type]  # spelled out by each test


def ids(runs: object) -> list[str]:
    return [run.run_id for run in runs]  # type: ignore[attr-defined]  # a page's items


async def test_sessions_come_with_the_counts_of_their_runs(store: Store) -> None:
    await store.save_session(a_session(last_active_at=at(1)))
    await store.save_session(a_session(OTHER_CHAT, last_active_at=at(2)))
    await store.save_agent(CHAT, an_agent())
    await store.save_agent(CHAT, an_agent("Fixed", kind=AgentKind.STATIC))
    await store.add_runs([a_run("queued"), a_run("old", created_at=at(-90))])
    await a_taken_run(store, "running")
    await an_ended_run(store, "good")
    await an_ended_run(store, "bad", RunState.FAILED)
    await an_ended_run(store, "late", RunState.TIMED_OUT)

    page = await sessions(store)

    here = SessionSummary(
        session=CHAT,
        created_at=NOON,
        last_active_at=at(1),
        agents=1,
        running=1,
        queued=2,
        runs=6,
        failed=2,
        tokens=15,
    )
    there = SessionSummary(session=OTHER_CHAT, created_at=NOON, last_active_at=at(2))
    assert page == SessionPage(items=[there, here], total=2)
    assert await store.pages.session_summary(CHAT, day=at(-60)) == here
    assert await store.pages.session_summary(SessionId("nowhere"), day=NOON) is None


async def test_what_failed_or_was_used_before_the_day_began_does_not_count(store: Store) -> None:
    await an_ended_run(store, "bad", RunState.FAILED)

    summary = await store.pages.session_summary(CHAT, day=at(6))

    assert summary is not None
    assert (summary.runs, summary.failed, summary.tokens) == (1, 0, 0)


async def test_sessions_are_found_by_a_part_of_their_id(store: Store) -> None:
    for name in ("webchat:Friend:Ann_1", "webchat:Friend:AnnX1", "qq:Group:ann%"):
        await store.save_session(a_session(SessionId(name)))

    async def found(text: str) -> list[str]:
        return [each.session for each in (await sessions(store, text)).items]

    assert await found("ANN_") == ["webchat:Friend:Ann_1"]
    assert await found("n%") == ["qq:Group:ann%"]
    assert await found("'; --") == []


async def test_sessions_with_live_or_failed_runs_are_found_alone(store: Store) -> None:
    quiet = SessionId("quiet")
    await store.save_session(a_session(quiet))
    await store.add_runs([a_run("queued", session=OTHER_CHAT)])
    await an_ended_run(store, "bad", RunState.FAILED)

    live = await sessions(store, only="live")
    failed = await sessions(store, only="failed")

    assert [each.session for each in live.items] == [OTHER_CHAT]
    assert [each.session for each in failed.items] == [CHAT]
    assert (live.total, failed.total) == (1, 1)


async def test_a_page_of_sessions_begins_where_the_last_one_ended(store: Store) -> None:
    for n in range(5):
        await store.save_session(a_session(SessionId(f"chat {n}"), last_active_at=at(n)))

    page = await sessions(store, offset=3, limit=2)

    assert [each.session for each in page.items] == ["chat 1", "chat 0"]
    assert page.total == 5


async def test_runs_of_all_sessions_come_newest_first_and_page_by_page(store: Store) -> None:
    runs = [a_run(f"run{n}", created_at=at(n)) for n in range(4)]
    await store.add_runs([*runs, a_run("twin", session=OTHER_CHAT, created_at=at(3))])

    first = await store.pages.run_page(RunSearch(), offset=0, limit=3)
    rest = await store.pages.run_page(RunSearch(), offset=3, limit=3)

    assert ids(first.items) == ["twin", "run3", "run2"]
    assert ids(rest.items) == ["run1", "run0"]
    assert (first.total, rest.total) == (5, 5)
    assert rest.items[0] == runs[1]


async def test_each_word_of_a_search_narrows_it(store: Store) -> None:
    group = GroupId("g1")
    await store.add_runs(
        [
            a_run("a", input="Look at 100% of it"),
            a_run("b", agent=AgentName("Writer"), kind=RunKind.TASK, group_id=group),
            a_run("c", session=OTHER_CHAT, created_at=at(9)),
        ]
    )
    await an_ended_run(store, "d", RunState.FAILED, created_at=at(-9))

    async def found(**search: object) -> list[str]:
        page = await store.pages.run_page(RunSearch(**search), offset=0, limit=9)  # type: ignore[arg-type]  # spelled out below
        assert page.total == len(page.items)
        return sorted(ids(page.items))

    assert await found(session=CHAT) == ["a", "b", "d"]
    assert await found(agent="WRITER") == ["b"]
    assert await found(states=[RunState.FAILED]) == ["d"]
    assert await found(states=[RunState.FAILED, RunState.QUEUED]) == ["a", "b", "c", "d"]
    assert await found(kind=RunKind.TASK) == ["b"]
    assert await found(group=group) == ["b"]
    assert await found(text="100%") == ["a"]
    assert await found(text="LOOK AT") == ["a"]
    assert await found(since=at(1)) == ["c"]
    assert await found(finished_since=at(5)) == ["d"]
    assert await found(finished_since=at(6)) == []
    assert await found(session=OTHER_CHAT, agent="writer") == []


async def test_the_whole_store_is_counted(store: Store) -> None:
    assert await store.pages.store_counts(day=NOON) == StoreCounts(states={}, ended={})
    await store.save_agent(OTHER_CHAT, an_agent())
    await store.add_runs([a_run("queued"), a_run("old", created_at=at(-5))])
    await an_ended_run(store, "good")
    await an_ended_run(store, "bad", RunState.FAILED)

    counts = await store.pages.store_counts(day=NOON)

    assert counts == StoreCounts(
        sessions=2,
        agents=1,
        states={RunState.QUEUED: 2},
        ended={RunState.COMPLETED: 1, RunState.FAILED: 1},
        runs=3,
        usage=FIVE + FIVE,
    )


async def test_usage_is_summed_by_day_agent_model_and_session(store: Store) -> None:
    day = 24 * 60
    await an_ended_run(store, "a", created_at=at(-day))
    await an_ended_run(store, "b", RunState.FAILED)
    await an_ended_run(store, "c", session=OTHER_CHAT, agent=None, kind=RunKind.TASK)
    await store.add_runs([a_run("early", created_at=at(-3 * day))])
    since = at(-2 * day)

    async def sums(by: str, session: SessionId | None = None) -> list[tuple[str, int, int, int]]:
        found = await store.pages.usage_sums(by, since=since, session=session)  # type: ignore[arg-type]  # one of UsageBy
        return [(each.key, each.runs, each.failed, each.usage.total) for each in found]

    assert await sums("day") == [("2026-02-28", 1, 0, 5), ("2026-03-01", 2, 1, 10)]
    assert await sums("agent") == [("Scout", 2, 1, 10), ("", 1, 0, 5)]
    assert await sums("model") == [("gpt", 3, 1, 15)]
    assert await sums("session") == [(CHAT, 2, 1, 10), (OTHER_CHAT, 1, 0, 5)]
    assert await sums("session", OTHER_CHAT) == [(OTHER_CHAT, 1, 0, 5)]
    assert (await store.pages.usage_sums("agent", since=since, most=1)) == [
        UsageSum(key="Scout", runs=2, failed=1, usage=FIVE + FIVE)
    ]


async def test_a_run_s_messages_are_read_page_by_page(store: Store) -> None:
    run = await a_taken_run(store)
    other = await a_taken_run(store, "run2", conversation=run.conversation)
    mine = [a_message(run, seq, f"Message {seq}.") for seq in (1, 2, 3)]
    await store.write_run(RunWrite(run=run, messages=mine))
    theirs = a_message(other, 4)
    await store.write_run(RunWrite(run=other, messages=[theirs]))

    page = await store.pages.message_page(run.conversation, run.run_id, offset=1, limit=1)
    whole = await store.pages.conversation_page(run.conversation, offset=0, limit=9)

    assert (page.items, page.total) == ([mine[1]], 3)
    assert (whole.items, whole.total) == ([*mine, theirs], 4)


async def test_it_is_said_where_results_stand(store: Store) -> None:
    await an_ended_run(store, "a")
    await an_ended_run(store, "b")
    await store.update_deliveries(
        ["b"], expected=[DeliveryState.PENDING], state=DeliveryState.CLOSED
    )

    found = await store.pages.deliveries_of([RunId("a"), RunId("b"), RunId("c")])

    assert found == {RunId("a"): DeliveryState.PENDING, RunId("b"): DeliveryState.CLOSED}
    assert await store.pages.deliveries_of([]) == {}
