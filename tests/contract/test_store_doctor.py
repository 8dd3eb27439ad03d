"""The doctor of a store: what it finds and what it mends, in a file and on a server."""

import json
from pathlib import Path
from typing import Any

import pytest

from astrbot_plugin_subagents.manager.models import RunState, SubAgentConfig
from astrbot_plugin_subagents.manager.settings import StaticAgentSettings
from astrbot_plugin_subagents.manager.static_agents import static_configs
from astrbot_plugin_subagents.manager.store import RunWrite, SqlStore
from astrbot_plugin_subagents.manager.store.doctor import Finding, FindingKind, Report, examine
from support import store_places, stores
from support.store_places import TABLES, StorePlace, fill
from support.stores import (
    CHAT,
    NOON,
    a_delivery,
    a_message,
    a_run,
    a_session,
    a_taken_run,
    an_agent,
    opened,
)

empty_file = stores.empty_file
place = store_places.any_place

DAMAGE = {
    "subagent": "UPDATE subagent SET kind = 'robot'",
    "run": "UPDATE run SET origin = '[]'",
    "run_step": "UPDATE run_step SET state = 'maybe'",
    "message": "UPDATE message SET body = '[]' WHERE seq = 3",
    "fork_context": "UPDATE fork_context SET body = '{}'",
    "delivery": "UPDATE delivery SET state = 'lost'",
    "turn": "UPDATE turn SET image_urls = '{}'",
    "run_event": "UPDATE run_event SET payload = '[]'",
}
"""By table: what no database refuses, and no record can be made of."""


def kinds(findings: tuple[Finding, ...]) -> list[tuple[FindingKind, str, str]]:
    return [(finding.kind, finding.table, finding.key) for finding in findings]


def rows_of(report: Report) -> dict[str, int]:
    return {table.table: table.rows for table in report.tables}


def removed_rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def a_static_agent() -> SubAgentConfig:
    """One that was configured: the store holds no row of it."""
    settings = StaticAgentSettings(name="Clerk")
    [config] = static_configs([settings], {}, session=CHAT, now=NOON)
    return config


async def test_of_a_sound_store_it_tells_only_what_is_in_it(place: StorePlace) -> None:
    await fill(place.address)

    report = await examine(place.address)

    assert report.is_sound
    assert report.findings == ()
    assert rows_of(report) == {**dict.fromkeys(TABLES, 1), "message": 3, "run_order": 0}
    assert report.size.total > sum(table.content_bytes for table in report.tables) > 500


async def test_damaged_rows_are_found_and_kept_in_a_file_before_they_go(place: StorePlace) -> None:
    await fill(place.address)
    for statement in DAMAGE.values():
        await place.change(statement)

    found = await examine(place.address)
    mended = await examine(place.address, mend=True, removed=place.removed)

    damaged = [each for each in found.findings if each.kind is FindingKind.DAMAGED]
    assert [each.table for each in damaged] == list(DAMAGE)
    assert all(each.mendable for each in damaged)
    assert set(damaged) <= set(mended.mended)
    assert mended.findings == ()
    kept = removed_rows(place.removed)
    assert {row["table"] for row in kept} == {*DAMAGE, "turn_call"}
    assert {name: number for name, number in rows_of(mended).items() if number} == {
        "session": 1,
        "shared_entry": 1,
    }
    assert kept[0]["row"]["kind"] == "robot"
    assert kept[0]["row"]["system_prompt"] == an_agent().system_prompt


async def test_one_damaged_message_is_no_longer_in_the_way_of_the_others(
    place: StorePlace,
) -> None:
    await fill(place.address)
    await place.change(DAMAGE["message"])

    report = await examine(place.address, mend=True, removed=place.removed)

    assert kinds(report.mended) == [
        (FindingKind.DAMAGED, "message", "conversation=talk of run1, seq=3")
    ]
    async with opened(SqlStore(place.address)) as store:
        messages = await store.load_messages(a_run().conversation, newest=9)
    assert [message.seq for message in messages] == [1, 2]


async def test_what_a_damaged_run_owned_goes_with_it_into_the_file(place: StorePlace) -> None:
    await fill(place.address)
    await place.change("UPDATE run SET origin = '[]'")
    await place.change("DELETE FROM subagent WHERE name = 'Scout'")

    report = await examine(place.address, mend=True, removed=place.removed)

    gone = [row["table"] for row in removed_rows(place.removed)]
    assert gone == [
        "run",
        "run_step",
        "message",
        "message",
        "message",
        "fork_context",
        "delivery",
    ]
    assert removed_rows(place.removed)[0]["row"]["origin"] == "[]"
    assert report.is_sound


@pytest.mark.parametrize(
    ("statement", "table", "key"),
    [
        ("UPDATE run_step SET run_id = 'gone'", "run_step", "run_id=gone"),
        ("UPDATE turn_call SET turn_id = 'gone'", "turn_call", "turn_id=gone"),
        ("UPDATE fork_context SET group_id = 'gone'", "fork_context", "group_id=gone"),
        ("UPDATE delivery SET delivery_id = 'gone'", "delivery", "delivery_id=gone"),
        (
            "UPDATE message SET conversation = 'gone', run_id = 'gone'",
            "message",
            "conversation=gone",
        ),
    ],
)
async def test_rows_without_an_owner_are_one_finding_and_can_be_removed(
    place: StorePlace, statement: str, table: str, key: str
) -> None:
    await fill(place.address)
    await place.change(statement)
    others = {name: await place.count(name) for name in TABLES if name != table}

    found = await examine(place.address)
    mended = await examine(place.address, mend=True, removed=place.removed)

    assert kinds(found.findings) == [(FindingKind.ORPHAN, table, key)]
    assert mended.mended == found.findings
    assert mended.is_sound
    assert await place.count(table) == 0
    assert {name: await place.count(name) for name in others} == others


async def test_the_delivery_of_a_run_that_is_not_over_is_taken_away(place: StorePlace) -> None:
    async with opened(SqlStore(place.address)) as store:
        run = await a_taken_run(store)
        await store.write_run(RunWrite(run=run, delivery=a_delivery(run)))

    report = await examine(place.address, mend=True, removed=place.removed)

    assert kinds(report.mended) == [(FindingKind.ORPHAN, "delivery", "delivery_id=run1")]
    assert await place.count("delivery") == 0
    assert await place.count("run") == 1


async def test_what_agents_remember_outlives_its_runs(place: StorePlace) -> None:
    async with opened(SqlStore(place.address)) as store:
        await store.save_session(a_session())
        await store.save_agent(CHAT, an_agent())
        for run_id, conversation in (
            ("run1", an_agent().conversation),
            ("run2", a_static_agent().conversation),
        ):
            run = await a_taken_run(store, run_id, conversation=conversation)
            await store.write_run(RunWrite(run=run, messages=[a_message(run, 1)]))
    await place.change("DELETE FROM run WHERE run_id LIKE 'run%'")

    assert (await examine(place.address)).findings == ()


async def test_a_gap_in_a_conversation_is_told_and_left_as_it_is(place: StorePlace) -> None:
    await fill(place.address)
    await place.change("DELETE FROM message WHERE seq = 2")

    report = await examine(place.address, mend=True, removed=place.removed)

    assert kinds(report.findings) == [(FindingKind.GAP, "message", "conversation=talk of run1")]
    assert report.is_sound
    assert report.mended == ()
    assert await place.count("message") == 2


async def test_a_session_without_a_record_is_given_one(place: StorePlace) -> None:
    await fill(place.address)
    await place.change("DELETE FROM session WHERE created_at IS NOT NULL")

    found = await examine(place.address)
    mended = await examine(place.address, mend=True, removed=place.removed)

    assert kinds(found.findings) == [(FindingKind.ORPHAN, "session", f"session={CHAT}")]
    assert mended.is_sound
    assert not place.removed.exists()
    async with opened(SqlStore(place.address)) as store:
        assert await store.load_session(CHAT) is not None


async def test_unfinished_runs_are_told_of_and_left_for_the_next_start(place: StorePlace) -> None:
    async with opened(SqlStore(place.address)) as store:
        await a_taken_run(store)
        await store.add_runs([a_run("run2")])

    report = await examine(place.address, mend=True, removed=place.removed)

    assert kinds(report.findings) == [
        (FindingKind.UNFINISHED, "run", "run_id=run1"),
        (FindingKind.UNFINISHED, "run", "run_id=run2"),
    ]
    assert report.is_sound
    async with opened(SqlStore(place.address)) as store:
        states = [run.state for run in await store.unfinished_runs()]
    assert states == [RunState.RUNNING, RunState.QUEUED]


async def test_looking_changes_nothing(place: StorePlace) -> None:
    await fill(place.address)
    await place.change("UPDATE run SET origin = '[]'")
    await place.change("UPDATE turn_call SET turn_id = 'gone'")
    before = {name: await place.count(name) for name in TABLES}

    first = await examine(place.address)
    second = await examine(place.address)

    assert len(first.findings) == 2
    assert first == second
    assert {name: await place.count(name) for name in TABLES} == before
    assert not place.removed.exists()
