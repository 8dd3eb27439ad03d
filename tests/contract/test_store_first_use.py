"""The store's contract: a session has a record from the first thing that is kept of it."""

import pytest

from astrbot_plugin_subagents.manager.store import Store
from support import stores
from support.stores import CHAT, OTHER_CHAT, a_note, a_run, a_session, an_agent, at

store = stores.any_store
empty_file = stores.empty_file


async def keep(store: Store, what: str) -> None:
    """Keep something of a session, made five minutes after noon."""
    match what:
        case "agent":
            await store.save_agent(CHAT, an_agent(created_at=at(5)))
        case "run":
            await store.add_runs([a_run(created_at=at(5))])
        case _:
            await store.add_shared_entry(CHAT, a_note(1, at=at(5)), keep=10)


@pytest.mark.parametrize("what", ["agent", "run", "note"])
async def test_the_first_thing_that_is_kept_of_a_session_makes_its_record(
    store: Store, what: str
) -> None:
    before = await store.load_session(CHAT)

    await keep(store, what)

    assert before is None
    assert await store.load_session(CHAT) == a_session(created_at=at(5), last_active_at=at(5))
    assert await store.load_session(OTHER_CHAT) is None
    if what != "run":
        assert await store.idle_sessions(at(6), 9) == [CHAT]


@pytest.mark.parametrize("what", ["agent", "run", "note"])
async def test_a_record_that_is_there_stays_as_it_is(store: Store, what: str) -> None:
    record = a_session(memory_enabled=False, last_active_at=at(1))
    await store.save_session(record)

    await keep(store, what)

    assert await store.load_session(CHAT) == record
