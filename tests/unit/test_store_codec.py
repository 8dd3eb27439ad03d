"""Every record goes into its table and comes back as it was, its texts cleaned."""

from collections.abc import Callable, Iterator
from dataclasses import is_dataclass, replace
from datetime import UTC, datetime, timedelta, timezone
from types import UnionType
from typing import Any, get_args, get_type_hints

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection, Row, Table, create_engine, delete, insert, select
from sqlalchemy.exc import StatementError

from astrbot_plugin_subagents.manager.errors import StoreUnavailable
from astrbot_plugin_subagents.manager.fork_context import ForkContext
from astrbot_plugin_subagents.manager.models import (
    AgentKind,
    Artifact,
    Delivery,
    GroupId,
    Origin,
    Run,
    RunStep,
    SessionId,
    SessionRecord,
    SharedEntry,
    StoredMessage,
    SubAgentConfig,
    ToolUse,
)
from astrbot_plugin_subagents.manager.store import (
    codec,
    codec_forks,
    codec_log,
    codec_runs,
    schema,
)
from astrbot_plugin_subagents.manager.store.texts import cleaned
from astrbot_plugin_subagents.manager.stored_event import StoredEvent
from astrbot_plugin_subagents.manager.turn_record import TurnCall, TurnRecord
from support.stores import ANN, CHAT, NOON, a_message, a_note, a_run, a_session, an_agent

texts = st.text(st.characters(codec=None, categories=None), max_size=20)
names = st.lists(texts, max_size=3).map(tuple)
zones = st.sampled_from([UTC, timezone(timedelta(hours=8)), timezone(timedelta(minutes=-210))])
times = st.datetimes(datetime(1971, 1, 1), datetime(2200, 1, 1), timezones=zones)
numbers = st.integers(0, 2**31 - 1)
bodies = st.dictionaries(texts, texts | st.none() | st.lists(texts, max_size=2), max_size=3)


def values_of(hint: Any) -> st.SearchStrategy[Any]:
    """Any value of a field."""
    hint = getattr(hint, "__supertype__", hint)
    if isinstance(hint, UnionType):
        return st.one_of(*map(values_of, get_args(hint)))
    if is_dataclass(hint):
        return records(hint)
    plain = {str: texts, int: numbers, datetime: times}
    return plain[hint] if hint in plain else st.from_type(hint)


def records(kind: Any, **special: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Any record of a kind, those fields included that have a default."""
    hints = {name: hint for name, hint in get_type_hints(kind).items() if name not in special}
    return st.builds(kind, **{name: values_of(hint) for name, hint in hints.items()}, **special)


def a_few(kind: type) -> st.SearchStrategy[Any]:
    """Up to two records of a kind."""
    return st.lists(records(kind), max_size=2).map(tuple)


objects = st.lists(bodies, max_size=2).map(tuple)
runs = records(
    Run,
    depends_on=names,
    image_urls=names,
    tools_used=a_few(ToolUse),
    artifacts=a_few(Artifact),
)
agents = records(SubAgentConfig, tools=st.none() | names, skills=st.none() | names)
messages = records(StoredMessage, body=bodies)


FORK = ForkContext(
    group_id=GroupId("group"), session=CHAT, messages=(), tools=(), provider_id="", created_at=NOON
)
TURN = TurnRecord(turn_id="turn", session=CHAT, owner=ANN, origin=Origin(), began_at=NOON)
EVENT = StoredEvent(session=CHAT, kind="run", payload={}, at=NOON)
NO_KIND = '{"label":"a","position":0,"agent_type":"odd","tool_filter":"","max_steps":0}'


@pytest.fixture(scope="module")
def connection() -> Iterator[Connection]:
    """A database in memory with the tables."""
    engine = create_engine("sqlite://")
    with engine.connect() as connection:
        schema.metadata.create_all(connection)
        yield connection
    engine.dispose()


def through[T](
    connection: Connection, table: Table, values: dict[str, Any], read: Callable[[Row[Any]], T]
) -> T:
    """Write a row and read it."""
    connection.execute(delete(table))
    connection.execute(insert(table), values)
    return read(connection.execute(select(table)).one())


round_trip = settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@round_trip
@given(run=runs)
def test_runs_and_what_changes_in_them(connection: Connection, run: Run) -> None:
    values = codec_runs.run_values(run)

    assert through(connection, schema.run, values, codec_runs.read_run) == cleaned(run)
    assert {**values, **codec_runs.run_changes(run)} == values


@round_trip
@given(agent=agents)
def test_agents(connection: Connection, agent: SubAgentConfig) -> None:
    agent = replace(agent, personas=())  # never stored: the configuration names them
    values = codec.agent_values(CHAT, agent)

    assert through(connection, schema.subagent, values, codec.read_agent) == cleaned(agent)


@round_trip
@given(message=messages)
def test_messages(connection: Connection, message: StoredMessage) -> None:
    values = codec.message_values(CHAT, message)

    assert through(connection, schema.message, values, codec.read_message) == cleaned(message)


@round_trip
@given(
    session=records(SessionRecord),
    entry=records(SharedEntry),
    step=records(RunStep),
    delivery=records(Delivery),
)
def test_the_flat_records(
    connection: Connection,
    session: SessionRecord,
    entry: SharedEntry,
    step: RunStep,
    delivery: Delivery,
) -> None:
    trips: list[tuple[object, Table, dict[str, Any], Callable[[Row[Any]], object]]] = [
        (session, schema.session, codec.session_values(session), codec.read_session),
        (entry, schema.shared_entry, codec.entry_values(CHAT, entry), codec.read_entry),
        (step, schema.run_step, codec_runs.step_values(step), codec_runs.read_step),
        (delivery, schema.delivery, codec_runs.delivery_values(delivery), codec_runs.read_delivery),
    ]
    for record, table, values, read in trips:
        assert through(connection, table, values, read) == cleaned(record)


@round_trip
@given(
    fork=records(ForkContext, messages=objects, tools=objects),
    turn=records(TurnRecord, image_urls=names, calls=st.just(())),
    call=records(TurnCall),
    event=records(StoredEvent, payload=bodies),
)
def test_what_later_features_keep(
    connection: Connection,
    fork: ForkContext,
    turn: TurnRecord,
    call: TurnCall,
    event: StoredEvent,
) -> None:
    of_turn = {"turn_id": "turn", "session": CHAT, **codec_log.call_values(call)}
    numbered = {"id": event.event_id, **codec_log.event_values(event)}
    trips: list[tuple[object, Table, dict[str, Any], Callable[[Row[Any]], object]]] = [
        (fork, schema.fork_context, codec_forks.fork_values(fork), codec_forks.read_fork),
        (turn, schema.turn, codec_log.turn_values(turn), codec_log.read_turn),
        (("turn", call), schema.turn_call, of_turn, codec_log.read_call),
        (event, schema.run_event, numbered, codec_log.read_event),
    ]
    for record, table, values, read in trips:
        assert through(connection, table, values, read) == cleaned(record)


def test_times_come_back_in_utc_and_sort_as_they_are(connection: Connection) -> None:
    zone = timezone(timedelta(hours=-5))
    moments = [datetime(2026, 3, 1, 23, 59, 59, micros, zone) for micros in (0, 1, 100_000)]
    connection.execute(delete(schema.session))
    for number, moment in enumerate(reversed(moments)):
        record = a_session(session=SessionId(str(number)), last_active_at=moment)
        connection.execute(insert(schema.session), codec.session_values(record))

    query = select(schema.session).order_by(schema.session.c.last_active_at)
    stored = [codec.read_session(row).last_active_at for row in connection.execute(query)]

    assert stored == moments
    assert {moment.tzinfo for moment in stored} == {UTC}


def test_a_naive_time_is_refused(connection: Connection) -> None:
    record = a_session(created_at=datetime(2026, 3, 1))

    with pytest.raises(StatementError):
        connection.execute(insert(schema.session), codec.session_values(record))


@pytest.mark.parametrize(
    ("table", "values", "read", "damage"),
    [
        (schema.run, codec_runs.run_values(a_run()), codec_runs.read_run, {"state": "odd"}),
        (schema.run, codec_runs.run_values(a_run()), codec_runs.read_run, {"tools_used": "[7]"}),
        (schema.run, codec_runs.run_values(a_run()), codec_runs.read_run, {"depends_on": "{}"}),
        (schema.run, codec_runs.run_values(a_run()), codec_runs.read_run, {"origin": "["}),
        (schema.run, codec_runs.run_values(a_run()), codec_runs.read_run, {"task": "[]"}),
        (
            schema.run,
            codec_runs.run_values(a_run()),
            codec_runs.read_run,
            {"task": NO_KIND},
        ),
        (schema.run, codec_runs.run_values(a_run()), codec_runs.read_run, {"task": "{}"}),
        (schema.fork_context, codec_forks.fork_values(FORK), codec_forks.read_fork, {"body": "{}"}),
        (
            schema.fork_context,
            codec_forks.fork_values(FORK),
            codec_forks.read_fork,
            {"body": '{"messages":[1],"tools":[],"provider_id":"","model":""}'},
        ),
        (
            schema.fork_context,
            codec_forks.fork_values(FORK),
            codec_forks.read_fork,
            {"body": '{"messages":[],"tools":[],"provider_id":null,"model":""}'},
        ),
        (schema.turn, codec_log.turn_values(TURN), codec_log.read_turn, {"image_urls": "[1]"}),
        (schema.turn, codec_log.turn_values(TURN), codec_log.read_turn, {"origin": "[]"}),
        (schema.run_event, codec_log.event_values(EVENT), codec_log.read_event, {"payload": "[]"}),
        (schema.subagent, codec.agent_values(CHAT, an_agent()), codec.read_agent, {"tools": "[1]"}),
        (schema.subagent, codec.agent_values(CHAT, an_agent()), codec.read_agent, {"kind": ""}),
        (
            schema.message,
            codec.message_values(CHAT, a_message(a_run(), 1)),
            codec.read_message,
            {"body": "[]"},
        ),
    ],
)
def test_a_damaged_row_is_an_error_and_no_guess(
    connection: Connection,
    table: Table,
    values: dict[str, Any],
    read: Callable[[Row[Any]], object],
    damage: dict[str, str],
) -> None:
    with pytest.raises(StoreUnavailable):
        through(connection, table, {**values, **damage}, read)


def test_a_damaged_time_is_an_error_and_no_guess(connection: Connection) -> None:
    connection.execute(delete(schema.shared_entry))
    connection.execute(insert(schema.shared_entry), codec.entry_values(CHAT, a_note(1)))
    connection.exec_driver_sql("UPDATE shared_entry SET at = 'yesterday'")

    with pytest.raises(StoreUnavailable):
        connection.execute(select(schema.shared_entry)).one()


def test_parts_of_an_origin_that_a_later_version_added_are_left_out(
    connection: Connection,
) -> None:
    run = a_run(origin=Origin(adapter="qq"))
    values = {**codec_runs.run_values(run), "origin": '{"adapter":"qq","platform_rank":"7"}'}

    assert through(connection, schema.run, values, codec_runs.read_run) == run


def test_static_agents_keep_their_none(connection: Connection) -> None:
    agent = replace(an_agent(), kind=AgentKind.STATIC, tools=None, skills=())

    values = codec.agent_values(CHAT, agent)

    assert through(connection, schema.subagent, values, codec.read_agent) == agent
