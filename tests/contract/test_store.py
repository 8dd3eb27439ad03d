"""The store's contract: sessions, agents and conversations, on every kind of store."""

import asyncio
from dataclasses import replace

import pytest

from astrbot_plugin_subagents.manager.errors import StoreUnavailable
from astrbot_plugin_subagents.manager.models import (
    AgentName,
    ConversationId,
    DeliveryState,
    RunState,
    SessionId,
)
from astrbot_plugin_subagents.manager.store import RunWrite, Store
from support import stores
from support.stores import (
    BOB,
    CHAT,
    OTHER_CHAT,
    a_delivery,
    a_message,
    a_note,
    a_run,
    a_session,
    a_step,
    a_taken_run,
    an_agent,
    at,
)

store = stores.any_store
empty_file = stores.empty_file

ALL_STATES = frozenset(DeliveryState)


async def test_what_is_stored_survives_closing_and_opening(store: Store) -> None:
    await store.save_session(a_session())
    await store.save_agent(CHAT, an_agent())

    await store.close()
    await store.open()

    assert await store.load_session(CHAT) == a_session()
    assert await store.load_agents(CHAT) == [an_agent()]


async def test_a_closed_store_is_unavailable_and_closing_it_again_does_nothing(
    store: Store,
) -> None:
    await store.close()
    await store.close()

    with pytest.raises(StoreUnavailable):
        await store.load_session(CHAT)
    with pytest.raises(StoreUnavailable):
        await store.save_session(a_session())


async def test_closing_finishes_the_writes_that_have_begun(store: Store) -> None:
    saving = [
        asyncio.create_task(store.save_session(a_session(SessionId(f"chat {n}"))))
        for n in range(20)
    ]
    await asyncio.sleep(0)

    await store.close()
    await asyncio.gather(*saving)
    await store.open()

    assert await store.load_session(SessionId("chat 19")) is not None


async def test_a_session_is_saved_and_replaced(store: Store) -> None:
    assert await store.load_session(CHAT) is None

    await store.save_session(a_session())
    changed = a_session(memory_enabled=False, board_enabled=True, last_active_at=at(5))
    await store.save_session(changed)

    assert await store.load_session(CHAT) == changed


async def test_idle_sessions_are_those_without_work_the_longest_idle_first(store: Store) -> None:
    for session, minutes in (("c", 3), ("b", 1), ("a", 1), ("busy", 0), ("fresh", 60)):
        await store.save_session(a_session(SessionId(session), last_active_at=at(minutes)))
    await store.add_runs(
        [
            a_run("1", session=SessionId("busy")),
            a_run("2", session=SessionId("a"), state=RunState.COMPLETED),
        ]
    )

    assert await store.idle_sessions(at(60), 10) == ["a", "b", "c"]
    assert await store.idle_sessions(at(60), 2) == ["a", "b"]
    assert await store.idle_sessions(at(1), 10) == []


async def test_agents_are_loaded_oldest_first(store: Store) -> None:
    late, early, also_early = (
        an_agent("late", created_at=at(9)),
        an_agent("zoe", created_at=at(1)),
        an_agent("amy", created_at=at(1), tools=None, skills=None, protected=True),
    )
    for agent in (late, early, also_early):
        await store.save_agent(CHAT, agent)

    assert await store.load_agents(CHAT) == [early, also_early, late]


async def test_an_agent_of_the_same_name_replaces_without_regard_to_case(store: Store) -> None:
    await store.save_agent(CHAT, an_agent("Scout"))
    await store.save_agent(OTHER_CHAT, an_agent("scout", owner=BOB))
    newer = an_agent("SCOUT", tools=("search", "read"), member_memory=True, created_at=at(1))

    await store.save_agent(CHAT, newer)

    assert await store.load_agents(CHAT) == [newer]
    assert await store.load_agents(OTHER_CHAT) == [an_agent("scout", owner=BOB)]


async def test_deleting_an_agent_forgets_its_memory_and_keeps_its_runs(store: Store) -> None:
    scout, clerk = an_agent("Scout"), an_agent("Clerk")
    for agent in (scout, clerk):
        await store.save_agent(CHAT, agent)
        run = await a_taken_run(store, agent.name, conversation=agent.conversation)
        await store.write_run(RunWrite(run=run, messages=[a_message(run, 1)]))

    await store.delete_agent(CHAT, replace(scout, name=AgentName("SCOUT")))

    assert await store.load_agents(CHAT) == [clerk]
    assert await store.load_messages(scout.conversation, newest=9) == []
    assert await store.last_seq(clerk.conversation) == 1
    assert len(await store.list_runs(CHAT)) == 2


async def test_deleting_a_session_takes_all_of_it_and_nothing_else(store: Store) -> None:
    for session in (CHAT, OTHER_CHAT):
        await fill(store, session)

    await store.delete_session(CHAT)

    assert await contents(store, CHAT) == [0] * 8
    assert await contents(store, OTHER_CHAT) == [1] * 8


async def fill(store: Store, session: SessionId) -> None:
    """Put one of everything into a session."""
    await store.save_session(a_session(session))
    await store.save_agent(session, an_agent())
    await store.add_shared_entry(session, a_note(1), keep=9)
    run = await a_taken_run(
        store, f"run of {session}", session=session, conversation=ConversationId(session)
    )
    await store.write_run(
        RunWrite(
            run=run, steps=[a_step(run)], messages=[a_message(run, 1)], delivery=a_delivery(run)
        )
    )


async def contents(store: Store, session: SessionId) -> list[int]:
    """How many of each thing a session holds."""
    run_id = a_run(f"run of {session}").run_id
    return [
        int(await store.load_session(session) is not None),
        len(await store.load_agents(session)),
        len(await store.load_shared_entries(session)),
        len(await store.list_runs(session)),
        int(await store.get_run(session, run_id) is not None),
        len(await store.run_steps(run_id)),
        await store.last_seq(ConversationId(session)),
        len(await store.load_deliveries(session, states=ALL_STATES)),
    ]


async def test_sessions_never_see_what_belongs_to_another(store: Store) -> None:
    await fill(store, CHAT)

    run_id = a_run(f"run of {CHAT}").run_id
    assert await store.get_run(OTHER_CHAT, run_id) is None
    assert await store.load_agents(OTHER_CHAT) == []
    assert await store.list_runs(OTHER_CHAT) == []
    assert await store.load_deliveries(OTHER_CHAT, states=ALL_STATES) == []
    assert await store.load_shared_entries(OTHER_CHAT) == []
    assert await store.delete_shared_entries(OTHER_CHAT) == 0
    assert await store.tokens_used(OTHER_CHAT, at(-60)) == 0
    await store.delete_agent(OTHER_CHAT, an_agent(conversation=ConversationId(CHAT)))
    assert await contents(store, CHAT) == [1] * 8


async def test_the_newest_messages_come_in_their_order(store: Store) -> None:
    run = await a_taken_run(store)
    messages = [a_message(run, seq, f"Text {seq}.", at=at(seq)) for seq in range(1, 31)]
    for start in range(0, 30, 3):
        await store.write_run(RunWrite(run=run, messages=messages[start : start + 3]))

    assert await store.load_messages(run.conversation, newest=100) == messages
    assert await store.load_messages(run.conversation, newest=4) == messages[-4:]
    assert await store.load_messages(run.conversation, newest=0) == []
    assert await store.load_messages(ConversationId("unknown"), newest=4) == []


async def test_messages_are_counted_by_conversation(store: Store) -> None:
    run = await a_taken_run(store)
    await store.write_run(RunWrite(run=run, messages=[a_message(run, 1), a_message(run, 2)]))
    empty = [ConversationId(f"empty {n}") for n in range(1200)]

    assert await store.count_messages([*empty, run.conversation]) == {run.conversation: 2}
    assert await store.count_messages([]) == {}
    assert await store.last_seq(run.conversation) == 2
    assert await store.last_seq(empty[0]) == 0


async def test_a_message_comes_back_as_it_was_with_its_keys_in_order(store: Store) -> None:
    run = await a_taken_run(store)
    body = {
        "role": "assistant",
        "content": [{"type": "text", "text": "слово 字 😀 end", "b": 1, "a": None}],
        "tool_calls": [{"id": "x", "function": {"name": "f", "arguments": '{"z": 1.0}'}}],
        "score": 1e400,
    }

    await store.write_run(RunWrite(run=run, messages=[a_message(run, 1, body=body)]))

    [message] = await store.load_messages(run.conversation, newest=1)
    assert message.body == {**body, "score": None}
    assert list(message.body) == list(body)
    assert list(message.body["content"][0]) == ["type", "text", "b", "a"]


async def test_characters_that_no_database_takes_cost_nothing_but_themselves(
    store: Store,
) -> None:
    bad, good = "a\x00b\ud800c\udfffd é", "a\ufffdb\ufffdc\ufffdd é"
    run = await a_taken_run(store, input=bad, image_urls=(bad,))
    await store.save_agent(CHAT, an_agent(system_prompt=bad, description=bad))
    await store.add_shared_entry(CHAT, a_note(1, content=bad), keep=9)
    await store.write_run(
        RunWrite(
            run=replace(run, last_text=bad),
            steps=[a_step(run, output=bad, arguments=bad)],
            messages=[a_message(run, 1, body={"role": "user", bad: [bad, r"\u0000"]})],
        )
    )

    [agent] = await store.load_agents(CHAT)
    [note] = await store.load_shared_entries(CHAT)
    [step] = await store.run_steps(run.run_id)
    stored = await store.get_run(CHAT, run.run_id)
    assert stored is not None
    assert (agent.system_prompt, agent.description, note.content) == (good, good, good)
    assert (step.output, step.arguments) == (good, good)
    assert (stored.input, stored.last_text, stored.image_urls) == (good, good, (good,))
    assert await store.load_session(SessionId(bad)) is None
    [message] = await store.load_messages(run.conversation, newest=1)
    assert message.body == {"role": "user", good: [good, r"\u0000"]}
