"""Export and import of sessions: between a file and a server, and what an import refuses."""

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from astrbot_plugin_subagents.manager.errors import StoreLocked, StoreUnavailable
from astrbot_plugin_subagents.manager.models import (
    ConversationId,
    DeliveryState,
    RunState,
    SessionId,
)
from astrbot_plugin_subagents.manager.store import RunWrite, SqlStore
from astrbot_plugin_subagents.manager.store.doctor import examine
from astrbot_plugin_subagents.manager.store.transfer import (
    BadExport,
    Moved,
    SessionExists,
    export_sessions,
    import_sessions,
)
from support import store_places, stores
from support.store_places import TABLES, StorePlace, fill
from support.stores import (
    ANN,
    CHAT,
    OTHER_CHAT,
    a_delivery,
    a_message,
    a_note,
    a_run,
    a_session,
    a_taken_run,
    an_agent,
    opened,
)

empty_file = stores.empty_file
place = store_places.any_place

ROWS = len(TABLES) + 2
"""What `fill` keeps: one of each kind, and two messages more."""


async def exported(address: str | Path, session: SessionId | None = None) -> str:
    stream = io.StringIO()
    await export_sessions(address, stream, session=session)
    return stream.getvalue()


async def imported(address: str | Path, text: str, *, replace: bool = False) -> Moved:
    return await import_sessions(address, io.StringIO(text), replace=replace)


async def test_there_and_back_nothing_is_lost_or_changed(place: StorePlace, tmp_path: Path) -> None:
    first, last = tmp_path / "first.db", tmp_path / "last.db"
    await fill(first)
    async with opened(SqlStore(first)) as store:
        for name in ("ä", "Z", "a"):  # databases sort these in ways of their own
            await store.save_session(a_session(SessionId(name), memory_enabled=False))
            run = await a_taken_run(store, name, conversation=ConversationId(name))
            ended = store_places.completed(run)
            await store.write_run(RunWrite(run=ended, messages=[a_message(run, 1)]))
    there = await exported(first)

    moved = await imported(place.address, there)
    back = await exported(place.address)
    await imported(last, back)

    assert moved == Moved(sessions=4, rows=ROWS + 9)
    assert there == back == await exported(last)
    assert (await examine(place.address)).findings == ()
    async with opened(SqlStore(first)) as one, opened(SqlStore(place.address)) as other:
        for store in (one, other):
            assert await store.load_agents(CHAT) == [an_agent()]
            assert await store.load_shared_entries(CHAT) == [a_note(1)]
            assert len(await store.open_turns()) == 1
        assert await one.list_runs(CHAT) == await other.list_runs(CHAT)


async def test_one_session_is_taken_alone(place: StorePlace, tmp_path: Path) -> None:
    await fill(place.address)
    async with opened(SqlStore(place.address)) as store:
        await store.add_runs([a_run("run2", session=OTHER_CHAT)])

    text = await exported(place.address, CHAT)

    assert OTHER_CHAT not in text
    assert await imported(tmp_path / "new.db", text) == Moved(sessions=1, rows=ROWS)
    with pytest.raises(StoreUnavailable):
        await exported(place.address, SessionId("nobody's"))


async def test_what_was_under_way_ends_as_interrupted_and_is_delivered(
    place: StorePlace, tmp_path: Path
) -> None:
    source = tmp_path / "source.db"
    async with opened(SqlStore(source)) as store:
        run = await a_taken_run(store)
        await store.write_run(RunWrite(run=run, messages=[a_message(run, 1)]))
        await store.add_runs([a_run("run2")])

    moved = await imported(place.address, await exported(source))

    assert moved.interrupted == 2
    async with opened(SqlStore(place.address)) as store:
        assert await store.unfinished_runs() == []
        runs = await store.list_runs(CHAT)
        deliveries = await store.load_deliveries(CHAT, states=[DeliveryState.PENDING])
    assert {run.state for run in runs} == {RunState.INTERRUPTED}
    assert all(run.failure and run.finished_at for run in runs)
    assert {each.delivery_id for each in deliveries} == {"run1", "run2"}
    assert {each.owner for each in deliveries} == {ANN}
    assert (await examine(place.address)).findings == ()


async def test_open_deliveries_wait_again_and_others_stay_done(
    place: StorePlace, tmp_path: Path
) -> None:
    source = tmp_path / "source.db"
    states = (DeliveryState.PENDING, DeliveryState.CLAIMED, DeliveryState.HANDED)
    done = (DeliveryState.ACKNOWLEDGED, DeliveryState.CLOSED)
    async with opened(SqlStore(source)) as store:
        for state in (*states, *done):
            run = await a_taken_run(store, state.value)
            ended = store_places.completed(run)
            delivery = a_delivery(run, state=state, taker="turn 1")
            await store.write_run(RunWrite(run=ended, delivery=delivery))

    await imported(place.address, await exported(source))

    async with opened(SqlStore(place.address)) as store:
        pending = await store.load_deliveries(CHAT, states=[DeliveryState.PENDING])
        rest = await store.load_deliveries(CHAT, states=[*states[1:], *done])
    assert [each.delivery_id for each in pending] == [state.value for state in states]
    assert [each.state for each in rest] == list(done)


async def test_a_session_that_is_there_is_replaced_only_when_told(
    place: StorePlace, tmp_path: Path
) -> None:
    source = tmp_path / "source.db"
    await fill(source)
    text = await exported(source)
    async with opened(SqlStore(place.address)) as store:
        await store.save_agent(CHAT, an_agent("Old"))
        await store.save_agent(OTHER_CHAT, an_agent("Other"))

    with pytest.raises(SessionExists) as refused:
        await imported(place.address, text)
    async with opened(SqlStore(place.address)) as store:
        assert [agent.name for agent in await store.load_agents(CHAT)] == ["Old"]
    await imported(place.address, text, replace=True)

    assert refused.value.session == CHAT
    assert await exported(place.address, CHAT) == text
    async with opened(SqlStore(place.address)) as store:
        assert [agent.name for agent in await store.load_agents(OTHER_CHAT)] == ["Other"]


async def test_of_a_session_that_meets_another_ones_rows_nothing_is_written(
    place: StorePlace, tmp_path: Path
) -> None:
    source = tmp_path / "source.db"
    await fill(source)
    async with opened(SqlStore(place.address)) as store:
        await store.add_runs([a_run("run1", session=OTHER_CHAT)])

    with pytest.raises(StoreUnavailable):
        await imported(place.address, await exported(source))

    assert [await place.count(table) for table in TABLES] == [1, 0, 1, *[0] * 8]


def changed(number: int, change: Callable[[dict[str, Any]], None]) -> Callable[[str], str]:
    """Change one line of an export, counted from 1."""

    def apply(text: str) -> str:
        lines = text.splitlines()
        content = json.loads(lines[number - 1])
        change(content)
        return "\n".join([*lines[: number - 1], json.dumps(content), *lines[number:]])

    return apply


def cut(count: int) -> Callable[[str], str]:
    """Keep the first lines only."""
    return lambda text: "".join(text.splitlines(keepends=True)[:count])


@pytest.mark.parametrize(
    ("spoil", "line"),
    [
        (lambda text: "", 1),
        (lambda text: text.removeprefix("{"), 1),
        (changed(1, lambda header: header.update(format="of something else")), 1),
        (changed(1, lambda header: header.update(version=2)), 1),
        (changed(1, lambda header: header.update(schema="9000")), 1),
        (changed(1, lambda header: header.update(schema=2)), 1),
        (changed(2, lambda line: line.update(kind="secret")), 2),
        (changed(2, lambda line: line.update(row=[])), 2),
        (changed(2, lambda line: line["row"].update(id=7)), 2),
        (changed(2, lambda line: line["row"].pop("created_at")), 2),
        (changed(3, lambda line: line["row"].update(kind="robot")), 3),
        (changed(4, lambda line: line["row"].update(steps=True)), 4),
        (changed(4, lambda line: line["row"].update(steps=1 << 40)), 4),
        (changed(4, lambda line: line["row"].update(input="\udcff")), 4),
        (changed(4, lambda line: line["row"].update(session="another")), ROWS + 2),
        (changed(5, lambda line: line["row"].update(run_id="another's")), ROWS + 2),
        (changed(ROWS + 2, lambda line: line.update(rows=3)), ROWS + 2),
        (cut(ROWS + 1), ROWS + 1),
        (lambda text: text + "".join(text.splitlines(keepends=True)[1:]), 2 * ROWS + 3),
        (lambda text: text + "[" * 100_000, ROWS + 3),
    ],
)
async def test_one_wrong_line_and_nothing_is_written(
    tmp_path: Path, spoil: Callable[[str], str], line: int
) -> None:
    source, target = tmp_path / "source.db", tmp_path / "target.db"
    await fill(source)
    text = await exported(source)

    with pytest.raises(BadExport) as refused:
        await imported(target, spoil(text))

    assert refused.value.line == line
    assert not store_places.exists(target)


async def test_a_column_that_came_later_may_be_missing_where_it_may_be_empty(
    tmp_path: Path,
) -> None:
    await fill(tmp_path / "source.db")
    text = await exported(tmp_path / "source.db")

    older = changed(1, lambda header: header.update(schema="0001"))(text)
    await imported(tmp_path / "target.db", changed(4, lambda line: line["row"].pop("task"))(older))

    assert await exported(tmp_path / "target.db") == text


async def test_a_session_that_comes_without_its_record_is_given_one(
    place: StorePlace, tmp_path: Path
) -> None:
    await fill(place.address)
    await place.change("DELETE FROM session WHERE created_at IS NOT NULL")

    await imported(tmp_path / "target.db", await exported(place.address))

    assert (await examine(tmp_path / "target.db")).findings == ()


async def test_a_damaged_row_is_not_left_out_in_silence(place: StorePlace) -> None:
    await fill(place.address)
    await place.change("UPDATE run SET origin = '[]'")

    with pytest.raises(StoreUnavailable):
        await exported(place.address)


async def test_an_export_looks_while_a_bot_works_and_an_import_waits_for_its_end(
    tmp_path: Path,
) -> None:
    path = tmp_path / "store.db"
    await fill(path)
    async with opened(SqlStore(path)) as store:
        await store.save_agent(OTHER_CHAT, an_agent("New"))
        text = await exported(path)

        with pytest.raises(StoreLocked):
            await imported(path, text, replace=True)

    assert OTHER_CHAT in text


async def test_lines_that_can_be_read_only_once_are_taken_too(tmp_path: Path) -> None:
    class Pipe(io.StringIO):
        def seekable(self) -> bool:
            return False

        def seek(self, *_: int) -> int:
            raise io.UnsupportedOperation

    await fill(tmp_path / "source.db")
    text = await exported(tmp_path / "source.db")

    await import_sessions(tmp_path / "target.db", Pipe(text))

    assert await exported(tmp_path / "target.db") == text
