"""The notice board: what it holds, and what each of its readers sees of it."""

import asyncio
import re
from datetime import UTC
from itertools import pairwise
from typing import Any

import pytest

from astrbot_plugin_subagents.manager.errors import InvalidArgument, StoreUnavailable
from astrbot_plugin_subagents.manager.models import OwnerId, SessionId, SharedEntry
from astrbot_plugin_subagents.manager.shared_context import (
    BoardReader,
    SharedContext,
    board_name,
    view,
)
from astrbot_plugin_subagents.manager.store import MemoryStore, Store
from astrbot_plugin_subagents.manager.testing import FakeClock
from support import core

CHAT = SessionId("chat")
ALICE, BOB = OwnerId("alice"), OwnerId("bob")


async def a_board(store: Store | None = None) -> SharedContext:
    """An empty board, or what a store holds of one."""
    if store is None:
        store = MemoryStore()
        await store.open()
    board = SharedContext(CHAT, store, FakeClock())
    await board.load()
    return board


async def put(board: SharedContext, content: str, **how: Any) -> SharedEntry:
    """Post a scout's message to all, unless said otherwise."""
    said = {"kind": "message", "sender": "scout", "owner": ALICE, "limit": 300, **how}
    return await board.post(said.pop("kind"), content, **said)


def a_reader(board: SharedContext, name: str = "clerk", owner: OwnerId = ALICE) -> BoardReader:
    return BoardReader(board, reader=name, owner=owner, zone=UTC)


def contents(board: SharedContext) -> list[str]:
    return [entry.content for entry in board.entries()]


# ---- what the board holds


@pytest.mark.parametrize(("limit", "kept"), [(10, 9), (20, 18), (1, 1), (2, 1), (300, 270)])
async def test_a_full_board_keeps_the_newest_nine_tenths(limit: int, kept: int) -> None:
    store = MemoryStore()
    await store.open()
    board = await a_board(store)
    for number in range(1, limit + 1):
        await put(board, f"{number}", limit=limit)
    assert contents(board) == [f"{number}" for number in range(1, limit + 1)]

    await put(board, "one more", limit=limit)

    assert contents(board) == [*(f"{n}" for n in range(limit - kept + 2, limit + 1)), "one more"]
    assert await store.load_shared_entries(CHAT) == list(board.entries())


async def test_a_board_that_was_made_smaller_shrinks_with_the_next_note() -> None:
    board = await a_board()
    for number in range(20):
        await put(board, f"{number}")

    await put(board, "new", limit=5)

    assert contents(board) == ["17", "18", "19", "new"]


@pytest.mark.parametrize("content", ["", "  ", "\n\t\n"])
async def test_an_empty_note_is_refused_and_changes_nothing(content: str) -> None:
    board = await a_board()

    with pytest.raises(InvalidArgument):
        await put(board, content)

    assert contents(board) == []


async def test_a_board_survives_a_reload_and_goes_on_behind_its_last_note() -> None:
    store = MemoryStore()
    await store.open()
    before = await a_board(store)
    await put(before, "one", kind="status")
    await put(before, "two", sender="main", kind="system", target="clerk")

    after = await a_board(store)
    third = await put(after, "three")

    assert after.entries() == (*before.entries(), third)
    assert third.seq == 3


@pytest.mark.parametrize("content", ["Grüße, 世界 🙂\u2028next", "x" * 20_000, "🙂" * 20_000])
async def test_a_note_is_kept_whole(content: str) -> None:
    store = MemoryStore()
    await store.open()
    board = await a_board(store)

    await put(board, content)

    assert [entry.content for entry in await store.load_shared_entries(CHAT)] == [content]


async def test_a_note_that_cannot_be_stored_is_not_there() -> None:
    troubled = core.TroubledStore()
    await troubled.inner.open()
    board = await a_board(troubled.store)
    reader = a_reader(board)
    troubled.failing.add("add_shared_entry")

    with pytest.raises(StoreUnavailable):
        await put(board, "lost")
    troubled.failing.clear()
    await put(board, "kept")

    assert contents(board) == ["kept"]
    assert "lost" not in reader.news()
    assert contents(await a_board(troubled.inner)) == ["kept"]


async def test_a_note_that_cannot_be_stored_takes_no_older_one_along() -> None:
    troubled = core.TroubledStore()
    await troubled.inner.open()
    board = await a_board(troubled.store)
    for number in range(10):
        await put(board, f"{number}", limit=10)
    troubled.failing.add("add_shared_entry")

    with pytest.raises(StoreUnavailable):
        await put(board, "lost", limit=10)

    assert contents(board) == contents(await a_board(troubled.inner))


async def test_notes_that_cannot_be_deleted_stay() -> None:
    troubled = core.TroubledStore()
    await troubled.inner.open()
    board = await a_board(troubled.store)
    await put(board, "here")
    troubled.failing.add("delete_shared_entries")

    with pytest.raises(StoreUnavailable):
        await board.clear(sender="scout")

    assert contents(board) == ["here"]


async def test_clearing_takes_one_senders_notes_or_all() -> None:
    board = await a_board()
    for sender in ("scout", "Clerk", "SCOUT"):
        await put(board, f"of {sender}", sender=sender)

    assert await board.clear(sender="Scout") == 2
    assert contents(board) == ["of Clerk"]
    assert await board.clear() == 1
    assert contents(board) == []


# ---- what a reader sees of it


async def test_an_empty_board_shows_nothing() -> None:
    board = await a_board()

    assert a_reader(board).news() == ""
    assert view(board.entries(), zone=UTC) == ""


async def test_a_board_with_only_ones_own_notes_shows_nothing() -> None:
    board = await a_board()
    await put(board, "mine", sender="Clerk")
    await put(board, "mine too", sender="clerk", kind="status", target="clerk")

    assert a_reader(board).news() == ""


async def test_a_reader_is_told_all_at_first_and_then_only_what_is_new() -> None:
    board = await a_board()
    await put(board, "red")
    clerk, guard = a_reader(board), a_reader(board, "guard")

    assert "red" in clerk.news()
    assert clerk.news() == ""
    await put(board, "blue")
    assert re.findall("red|blue", guard.news()) == ["red", "blue"]
    second = clerk.news()
    assert second.startswith("# New on the notice board\n")
    assert re.findall("red|blue", second) == ["blue"]
    assert (clerk.news(), guard.news()) == ("", "")


async def test_what_is_new_is_told_also_after_notes_were_taken_away() -> None:
    board = await a_board()
    await put(board, "one", sender="guard")
    await put(board, "two")
    clerk = a_reader(board)
    clerk.news()

    await board.clear(sender="scout")
    await put(board, "three", sender="guard")
    assert "three" in clerk.news()
    await board.clear()
    await put(board, "four", sender="guard")

    assert "four" in clerk.news()


async def test_a_note_that_is_just_being_stored_is_told_once_it_is_there() -> None:
    troubled = core.TroubledStore()
    await troubled.inner.open()
    board = await a_board(troubled.store)
    reader = a_reader(board)
    hold = troubled.hold("add_shared_entry")
    posts = [asyncio.create_task(put(board, text)) for text in ("red", "blue")]
    await hold.reached.wait()

    before = reader.news()
    hold.gate.set()
    await asyncio.gather(*posts)

    assert before == ""
    assert re.findall("red|blue", reader.news()) == ["red", "blue"]
    assert contents(board) == contents(await a_board(troubled.inner))


async def test_a_post_that_is_cancelled_is_as_the_store_has_it() -> None:
    troubled = core.TroubledStore()
    await troubled.inner.open()
    board = await a_board(troubled.store)
    hold = troubled.hold("add_shared_entry", after=True)
    post = asyncio.create_task(put(board, "red"))
    await hold.reached.wait()

    post.cancel()
    hold.gate.set()
    with pytest.raises(asyncio.CancelledError):
        await post

    assert contents(board) == contents(await a_board(troubled.inner)) == ["red"]


async def test_no_two_notes_of_a_board_have_one_number() -> None:
    board = await a_board()
    seqs = []
    for number in range(6):
        seqs.append((await put(board, "x", limit=3)).seq)
        if number == 3:
            await board.clear()

    assert all(first < second for first, second in pairwise(seqs))


def test_no_agent_is_called_on_the_board_like_those_whose_notes_are_instructions() -> None:
    names = [board_name(name) for name in ("main", "System", "scout")]

    assert names == ["sub-agent main", "sub-agent System", "scout"]
