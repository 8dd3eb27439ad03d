"""What `task` refuses: each error names the field and what is allowed, and nothing has changed."""

from collections.abc import Callable
from typing import Any

import pytest

from astrbot_plugin_subagents.manager import Settings, Turn
from astrbot_plugin_subagents.manager.settings import CustomFilterSettings, TaskSettings
from support import core
from support.task_calls import a_fork_context, a_task

make_core = core.make_core

type Tasks = list[dict[str, Any]]


async def refused(it: core.Core, turn: Turn, **arguments: Any) -> str:
    """The error of a call that must leave everything as it was."""
    before = await core.snapshot(it)
    starts = turn.starts
    reply = await it.call("task", turn, **arguments)
    assert reply.startswith("Error: ")
    assert await core.snapshot(it) == before
    assert (turn.starts, turn.children, it.host.requests) == (starts, set(), [])
    assert (await it.open()).runs.free_places() == 16
    return reply


async def a_turn(
    make_core: core.MakeCore, settings: Settings | None = None
) -> tuple[core.Core, Turn]:
    it = await make_core(settings=settings)
    it.fork_context = a_fork_context
    turn = await it.turn()
    await it.create("scout", turn)
    return it, turn


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, ["`task`", "`tasks`", "either"]),
        ({"task": "a", "tasks": [a_task("b")]}, ["`task`", "`tasks`", "either"]),
        ({"task": ""}, ["`task`", "must not be empty"]),
        ({"task": " \n\t"}, ["`task`", "must not be empty"]),
        ({"task": 5}, ["`task`", "string"]),
        ({"tasks": []}, ["`tasks`", "at least one"]),
        ({"tasks": "two of them"}, ["`tasks`", "list"]),
        ({"tasks": ["one"]}, ["`tasks[0]` must be an object with `task`, `agent`"]),
        ({"tasks": [{}]}, ["`tasks[0].task` is required"]),
        ({"tasks": [{"task": ""}]}, ["`tasks[0].task`"]),
        ({"tasks": [{"task": "  "}]}, ["`tasks[0].task`", "must not be empty"]),
        ({"tasks": [{"task": "a"}, {"task": "\u3000"}]}, ["`tasks[1].task`"]),
        ({"tasks": [{"task": "a"}], "background": True}, ["`background` is not a parameter"]),
        ({"tasks": [{"task": "a"}], "background_task": "maybe"}, ["`background_task`", "boolean"]),
    ],
)
async def test_a_call_without_proper_tasks_is_refused(
    make_core: core.MakeCore, arguments: dict[str, Any], said: list[str]
) -> None:
    it, turn = await a_turn(make_core)

    reply = await refused(it, turn, **arguments)

    assert [each for each in said if each not in reply] == []


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ({"agent": "scuot"}, ["'scuot'", "Did you mean 'scout'?"]),
        ({"agent": ""}, ["There is no sub-agent named ''", "Sub-agents: scout."]),
        ({"tool_filter": "read"}, ["tool filter: read", "Known: full, mine, none, readonly."]),
        ({"tool_filter": "ReadOnly"}, ["Did you mean 'readonly'?"]),
        ({"tool_filter": "shell", "agent": "scout"}, ["Unknown tool filter: shell"]),
        ({"agent_type": "wizard"}, ["`tasks[1].agent_type`", "react", "reflection", "plan"]),
        ({"context": "half"}, ["`tasks[1].context`", "'fresh' or 'fork'"]),
        ({"max_steps": 0}, ["`tasks[1].max_steps`", "1 to 30"]),
        ({"max_steps": -1}, ["`tasks[1].max_steps`", "1 to 30"]),
        ({"max_steps": 31}, ["`tasks[1].max_steps`", "1 to 30", "`max_steps`"]),
        ({"max_steps": "x"}, ["`tasks[1].max_steps`", "integer", "'x'"]),
        ({"max_steps": 1.5}, ["`tasks[1].max_steps`", "integer"]),
        ({"max_steps": 2, "agent_type": "reflection"}, ["`tasks[1].max_steps`", "3 to 30"]),
        ({"max_steps": 1, "agent_type": "plan"}, ["`tasks[1].max_steps`", "2 to 30"]),
        ({"max_steps": 2, "agent_type": "simple"}, ["`tasks[1].max_steps`", "must be 1"]),
        ({"max_steps": 0, "agent_type": "simple"}, ["`tasks[1].max_steps`", "must be 1"]),
        ({"max_steps": -1, "agent_type": "simple"}, ["`tasks[1].max_steps`", "must be 1"]),
        ({"tool_filter": "none", "agent_type": "simple"}, ["`tasks[1].tool_filter`", "no tools"]),
        ({"agent": "scout", "agent_type": "react"}, ["`tasks[1].agent_type`", "unnamed copies"]),
        ({"context": "fork", "agent_type": "plan"}, ["`tasks[1].agent_type`", "`context: fork`"]),
        ({"context": "fork", "agent_type": "react"}, ["`tasks[1].agent_type`", "`context: fork`"]),
        ({"agent": "scout", "context": "fork"}, ["`tasks[1].context`", "`agent`"]),
        ({"model": "big"}, ["`tasks[1].model` is not a parameter", "agent_type"]),
        ({"depend_on": ["one"]}, ["Did you mean `depends_on`?"]),
        ({"id": "x" * 65}, ["`tasks[1].id`", "64 characters"]),
        ({"id": True}, ["`tasks[1].id`", "string"]),
        ({"id": "one"}, ["`tasks[1].id`", "used twice: 'one'"]),
        ({"id": " one "}, ["`tasks[1].id`", "used twice: 'one'"]),
        ({"id": "1", "depends_on": ["1"]}, ["`depends_on`", "1 -> 1"]),
        ({"depends_on": ["One"]}, ["`tasks[1].depends_on`", "'One'", "(ids: one, two)"]),
        ({"depends_on": ["one", ""]}, ["`tasks[1].depends_on`", "''"]),
        ({"depends_on": "one, two"}, ["`tasks[1].depends_on`", "'one, two'"]),
        ({"depends_on": [["one"]]}, ["`tasks[1].depends_on[0]`", "string"]),
        ({"depends_on": {"id": "one"}}, ["`tasks[1].depends_on[0]`", "string"]),
        ({"depends_on": ["two"]}, ["`depends_on`", "two -> two"]),
    ],
)
async def test_one_wrong_option_refuses_the_whole_call(
    make_core: core.MakeCore, option: dict[str, Any], said: list[str]
) -> None:
    settings = Settings(task=TaskSettings(custom_filters=(CustomFilterSettings(name="mine"),)))
    it, turn = await a_turn(make_core, settings)
    tasks = [{"id": "one", "task": "one"}, {"id": "two", "task": "two", **option}]

    reply = await refused(it, turn, tasks=tasks)

    assert [each for each in said if each not in reply] == []
    assert len(reply) < 600


@pytest.mark.parametrize("tasks", [({"id": 2}, {}), ({}, {}, {"id": "2"})])
async def test_an_id_that_clashes_with_the_number_of_a_task_without_one_is_explained(
    make_core: core.MakeCore, tasks: tuple[dict[str, Any], ...]
) -> None:
    it, turn = await a_turn(make_core)

    reply = await refused(it, turn, tasks=[{"task": "look", **each} for each in tasks])

    assert "is used twice: '2' (one was left out, so it is its number)." in reply


def a_chain(length: int) -> Tasks:
    return [a_task(str(n), str(n - 1)) if n else a_task("0") for n in range(length)]


def a_circle(length: int) -> Tasks:
    return [a_task(str(n), str((n + 1) % length)) for n in range(length)]


@pytest.mark.parametrize("length", [2, 3, 50])
async def test_a_circle_is_refused_and_named(make_core: core.MakeCore, length: int) -> None:
    task = TaskSettings(max_tasks_per_call=64)
    it, turn = await a_turn(make_core, Settings(task=task, starts_per_turn=100))
    beside = [a_task("beside"), a_task("behind", "0")]

    reply = await refused(it, turn, tasks=[*beside, *a_circle(length)])

    names = reply.split("goes in a circle: ", 1)[1].split(".")[0].split(" -> ")
    assert names[0] == names[-1]
    assert sorted(map(int, names[1:])) == list(range(length))


@pytest.mark.parametrize(("make", "length"), [(a_chain, 17), (a_circle, 17), (a_chain, 10_000)])
async def test_too_many_tasks_are_refused(
    make_core: core.MakeCore, make: Callable[[int], Tasks], length: int
) -> None:
    it, turn = await a_turn(make_core)

    reply = await refused(it, turn, tasks=make(length))

    assert f"`tasks` has {length} tasks; at most 16 (setting `task.max_tasks_per_call`)" in reply


async def test_a_kind_that_the_limit_of_steps_does_not_allow_is_refused(
    make_core: core.MakeCore,
) -> None:
    it, turn = await a_turn(make_core, Settings(max_steps=2))

    reply = await refused(it, turn, tasks=[a_task("x", agent_type="reflection")])

    assert "`tasks[0].agent_type`" in reply
    assert "needs 3 model calls; the setting `max_steps` allows 2" in reply


async def test_more_tasks_than_the_turn_may_still_start_are_refused_as_a_whole(
    make_core: core.MakeCore,
) -> None:
    it, turn = await a_turn(make_core, Settings(starts_per_turn=2))

    reply = await refused(it, turn, tasks=[a_task("a"), a_task("b"), a_task("c")])

    assert "limit of 2 tasks started in one turn" in reply
    assert "`starts_per_turn`" in reply
    two = [a_task("a"), a_task("b")]
    assert "2 of 2 tasks completed." in await it.call("task", turn, tasks=two)


async def test_a_fork_is_refused_where_the_host_shows_nothing(make_core: core.MakeCore) -> None:
    it = await make_core()
    turn = await it.turn()

    reply = await refused(it, turn, tasks=[a_task("a"), a_task("b", context="fork")])

    assert "`context: fork` is switched off here." in reply


async def test_an_error_that_repeats_very_long_ids_stays_short(make_core: core.MakeCore) -> None:
    it, turn = await a_turn(make_core)
    tasks = [a_task(f"{n}{'x' * 60}") for n in range(16)]

    reply = await refused(it, turn, tasks=[*tasks[:15], {**tasks[15], "depends_on": ["y" * 9999]}])

    assert len(reply) < 1_200
