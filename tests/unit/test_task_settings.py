"""What the settings make of `task`: limits, tools of its copies, and what its events tell."""

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from astrbot_plugin_subagents.manager import Run, RunState, Settings, Turn
from astrbot_plugin_subagents.manager.events import (
    ModelCalled,
    RunChanged,
    TaskEnded,
    TaskStarted,
    ToolFinished,
    ToolStarted,
)
from astrbot_plugin_subagents.manager.host import AgentRequest, ToolScope
from astrbot_plugin_subagents.manager.sessions import Sessions
from astrbot_plugin_subagents.manager.settings import (
    MANAGEMENT_TOOLS,
    CustomFilterSettings,
    DynamicAgentSettings,
    TaskSettings,
)
from astrbot_plugin_subagents.manager.testing import Act, Fail, FakeHost, Say, Use, says
from astrbot_plugin_subagents.manager.tool_filter import NO_FILTER, find_filter
from astrbot_plugin_subagents.subagent_tools import (
    CallContext,
    call_tool,
    child_tools,
    management_tools,
    task_tool,
)
from support import core
from support.task_calls import Crew, a_fork_context, a_task, runs_of

make_core = core.make_core


async def requests_of(
    make_core: core.MakeCore, task: TaskSettings, *tasks: dict[str, Any], **more: Any
) -> list[AgentRequest]:
    """What the host is asked for by these tasks."""
    it = await make_core(settings=Settings(task=task, **more))
    it.fork_context = a_fork_context
    turn = await it.turn()
    await it.create("scout", turn, tools=["search"])
    reply = await it.call("task", turn, tasks=list(tasks))
    assert "completed." in reply
    return it.host.requests


def a_scope(task: TaskSettings, tool_filter: str, *assigned: str, **more: Any) -> ToolScope:
    return ToolScope(
        assigned=assigned,
        denied=frozenset(MANAGEMENT_TOOLS),
        filter=find_filter(tool_filter, task),
        **more,
    )


async def test_without_the_tool_there_is_none_and_a_call_of_it_is_refused(
    make_core: core.MakeCore,
) -> None:
    settings = Settings(task=TaskSettings(enabled=False))
    it = await make_core(settings=settings)
    turn = await it.turn()
    before = await core.snapshot(it)
    context = CallContext(manager=await it.open(), turn=turn, seconds_left=lambda: 60)

    reply = await call_tool(task_tool(settings), context, {"task": "x"})

    assert "task" not in [tool.name for tool in management_tools(settings)]
    assert "task" in [tool.name for tool in management_tools(Settings())]
    assert reply.startswith("Error: The tool `task` is switched off (setting `task.enabled`).")
    assert await core.snapshot(it) == before
    assert turn.starts == 0


async def test_the_tool_says_what_is_allowed_here() -> None:
    task = TaskSettings(
        default_tool_filter="mine",
        max_tasks_per_call=5,
        custom_filters=(CustomFilterSettings(name="mine"),),
    )

    spec = task_tool(Settings(task=task))

    one = spec.parameters["properties"]["tasks"]["items"]["properties"]
    Draft202012Validator.check_schema(spec.parameters)
    assert "At most 5 tasks in a call." in spec.description
    assert one["tool_filter"]["type"] == "string"
    assert one["tool_filter"]["enum"] == ["readonly", "full", "none", "mine"]
    assert "Left out: `mine`; for a named sub-agent no filter." in one["tool_filter"]["description"]
    assert "as tool_filter allows" in one["context"]["description"]
    assert "2 for plan, 3 for reflection" in one["max_steps"]["description"]


async def test_a_copy_has_the_tools_of_the_asker_under_the_default_filter(
    make_core: core.MakeCore,
) -> None:
    task = TaskSettings(readonly_extra=("search",))

    (request,) = await requests_of(make_core, task, a_task("a"))

    assert request.tools == a_scope(task, "readonly", "*", beyond_turn=True)


@pytest.mark.parametrize("wanted", ["readonly", "full", "none", "mine"])
async def test_each_kind_of_child_gets_the_filter_that_was_asked_for(
    make_core: core.MakeCore, wanted: str
) -> None:
    custom = CustomFilterSettings(name="mine", allowed=("search",))
    task = TaskSettings(custom_filters=(custom,))

    requests = await requests_of(
        make_core,
        task,
        a_task("copy", tool_filter=wanted),
        a_task("fork", tool_filter=wanted, context="fork"),
        a_task("named", tool_filter=wanted, agent="scout"),
    )

    filters = [request.tools.filter for request in requests]
    assert filters == [find_filter(wanted, task)] * 3


async def test_a_fork_keeps_the_whole_list_under_the_default_filter(
    make_core: core.MakeCore,
) -> None:
    task = TaskSettings(default_tool_filter="full")

    (request,) = await requests_of(make_core, task, a_task("a", context="fork"))

    assert request.tools == a_scope(task, "full", "*")


async def test_a_named_agent_keeps_its_own_tools_without_a_filter(
    make_core: core.MakeCore,
) -> None:
    (request,) = await requests_of(make_core, TaskSettings(), a_task("a", agent="scout"))

    assert (request.tools.assigned, request.tools.filter) == (("search",), NO_FILTER)


@pytest.mark.parametrize(
    ("inherit", "extra", "assigned"),
    [
        (True, (), ("*",)),
        (True, ("write",), ("*", "write")),
        (False, ("write",), ("write",)),
        (False, (), ()),
    ],
)
async def test_copies_inherit_tools_or_get_only_the_extra_ones(
    make_core: core.MakeCore, inherit: bool, extra: tuple[str, ...], assigned: tuple[str, ...]
) -> None:
    task = TaskSettings(inherit_tools=inherit, extra_tools=extra, default_tool_filter="none")

    (request,) = await requests_of(make_core, task, a_task("a"))

    assert request.tools == a_scope(task, "none", *assigned, beyond_turn=True)


async def test_only_a_copy_that_may_write_is_told_of_a_folder(make_core: core.MakeCore) -> None:
    reading, writing = await requests_of(
        make_core, TaskSettings(), a_task("a"), a_task("b", tool_filter="full")
    )

    assert "# Working directory" not in reading.system_prompt
    assert f"_tasks/{writing.run_id}" in writing.system_prompt


@pytest.mark.parametrize("is_used", [False, True])
@pytest.mark.parametrize("fails", [False, True])
async def test_a_copys_folder_stays_only_if_something_is_in_it(
    make_core: core.MakeCore, is_used: bool, fails: bool
) -> None:
    folders: list[Path] = []

    def script(request: AgentRequest) -> Sequence[Act]:
        (named,) = re.findall(r"\S+/_tasks/\w+", request.system_prompt)
        folders.append(Path(named))
        assert folders[0].is_dir()
        if is_used:
            (folders[0] / "notes.txt").write_text("kept", encoding="utf-8")
        return (Fail(code="x", message="no") if fails else Say(text="done"),)

    it = await make_core(script)

    await it.call("task", await it.turn(), tasks=[a_task("a", tool_filter="full")])

    assert [folder.exists() for folder in folders] == [is_used]


async def test_copies_use_the_model_of_children_and_forks_their_own(
    make_core: core.MakeCore,
) -> None:
    copy, fork = await requests_of(
        make_core,
        TaskSettings(),
        a_task("a"),
        a_task("b", context="fork"),
        dynamic_agents=DynamicAgentSettings(default_provider_id="cheap"),
    )

    assert (copy.provider_id, fork.provider_id) == ("cheap", "")


@pytest.mark.parametrize("is_admin", [False, True])
async def test_copies_and_forks_have_the_rights_of_who_asked(
    make_core: core.MakeCore, is_admin: bool
) -> None:
    it = await make_core(host=FakeHost(admins=["alice"] if is_admin else ["bob"]))
    it.fork_context = a_fork_context

    await it.call("task", await it.turn(), tasks=[a_task("a"), a_task("b", context="fork")])

    assert [request.member_rights for request in it.host.requests] == [not is_admin] * 2
    assert {request.origin.tools for request in it.host.requests} == {("search", "write")}


async def test_a_fresh_copy_has_the_board_unless_it_may_use_no_tools(
    make_core: core.MakeCore,
) -> None:
    it = await make_core()
    await it.sessions.close()
    it.services = core.replace(it.services, child_tools=child_tools)
    it.sessions = Sessions(it.services)
    await it.sessions.start()
    it.fork_context = a_fork_context
    kinds = [{}, {"agent_type": "simple"}, {"context": "fork"}]

    await it.call("task", await it.turn(), tasks=[{"task": "x", **kind} for kind in kinds])

    names = [[tool.name for tool in request.own_tools] for request in it.host.requests]
    assert "send_shared_context" in names[0]
    assert names[1:] == [[], []]


async def test_forks_of_one_call_share_what_they_begin_with(make_core: core.MakeCore) -> None:
    trouble = core.TroubledStore()
    it = await make_core(store=trouble.store)
    it.fork_context = a_fork_context
    forks = [a_task(name, context="fork") for name in "abc"]

    await it.call("task", await it.turn(), tasks=forks)

    one, two, three = (request.fork for request in it.host.requests)
    assert one is not None
    assert one == two == three
    assert trouble.calls.count("fork_context") == 1


async def test_a_task_may_lower_its_limit_of_model_calls(make_core: core.MakeCore) -> None:
    it = await make_core(says(Use(tool="search"), Say(text="so far"), Say(text="more")))
    turn = await it.turn()

    reply = await it.call("task", turn, tasks=[a_task("a", max_steps=2)])

    (run,) = await runs_of(it, reply)
    assert (run.steps, run.last_text, run.cut_short) == (2, "so far", "step_limit")


async def test_tasks_count_as_starts_of_their_turn(make_core: core.MakeCore) -> None:
    it = await make_core(settings=Settings(starts_per_turn=3))
    turn = await it.turn()
    await it.create("scout", turn)
    await it.call("task", turn, tasks=[a_task("a"), a_task("b", "a")])
    await it.call("transfer_to_scout", turn, input="x")

    refused = await it.call("task", turn, task="one more")

    assert refused.startswith("Error: The limit of 3 tasks started in one turn is reached")
    assert turn.starts == 3
    assert "1 of 1 tasks completed." in await it.call("task", await it.turn(), task="one more")


async def events_of(make_core: core.MakeCore) -> tuple[core.Core, Turn, list[Run]]:
    """One that works with a tool, one that fails, one that is skipped."""
    crew = Crew(bad=Fail())
    crew.let("good", "bad")
    it = await make_core(crew.script)
    turn = await it.turn()
    reply = await it.call(
        "task", turn, tasks=[a_task("good"), a_task("bad"), a_task("next", "bad", "good")]
    )
    return it, turn, await runs_of(it, reply)


async def test_a_task_is_told_to_start_and_to_end_once(make_core: core.MakeCore) -> None:
    it, _, (good, bad, skipped) = await events_of(make_core)

    started = [event.run.run_id for event in it.events if isinstance(event, TaskStarted)]
    ended = {
        event.run.run_id: event.run.state for event in it.events if isinstance(event, TaskEnded)
    }

    assert Counter(started) == Counter([good.run_id, bad.run_id])
    assert ended == {
        good.run_id: RunState.COMPLETED,
        bad.run_id: RunState.FAILED,
        skipped.run_id: RunState.CANCELLED,
    }
    assert sum(isinstance(event, TaskEnded) for event in it.events) == 3
    assert {event.kind for event in it.events} >= {"task.start", "task.end", "run.changed"}


async def test_a_task_that_waits_in_line_is_told_to_start_when_it_does(
    make_core: core.MakeCore,
) -> None:
    crew = Crew()
    it = await make_core(crew.script, settings=Settings(max_parallel_per_session=1))
    turn = await it.turn()
    reply = await it.call("task", turn, tasks=[a_task("a"), a_task("b")], background_task=True)
    a, b = await runs_of(it, reply)
    await crew.at_work("a")
    before = [event.run.run_id for event in it.events if isinstance(event, TaskStarted)]

    crew.let("a", "b")
    await it.until_over(b.run_id)

    after = [event.run.run_id for event in it.events if isinstance(event, TaskStarted)]
    assert (before, after) == ([a.run_id], [a.run_id, b.run_id])
    assert core.states_of(it.events, b.run_id) == [
        RunState.QUEUED,
        RunState.RUNNING,
        RunState.COMPLETED,
    ]


async def test_every_event_of_a_task_carries_its_run_id(make_core: core.MakeCore) -> None:
    it = await make_core(says(Use(tool="search"), Say(text="done")))
    turn = await it.turn()

    await it.call("task", turn, tasks=[a_task("a"), a_task("b", context="fresh")])

    told = Counter(
        (type(event), event.run_id)
        for event in it.events
        if isinstance(event, ModelCalled | ToolStarted | ToolFinished)
    )
    ids = {event.run.run_id for event in it.events if isinstance(event, RunChanged)}
    assert told == {
        (kind, run_id): 2 if kind is ModelCalled else 1
        for kind in (ModelCalled, ToolStarted, ToolFinished)
        for run_id in ids
    }
    assert len(ids) == 2


async def test_a_transfer_is_no_task_and_tells_of_none(make_core: core.MakeCore) -> None:
    it = await make_core()
    turn = await it.turn()
    await it.create("scout", turn)

    await it.call("transfer_to_scout", turn, input="x")

    assert not [event for event in it.events if isinstance(event, TaskStarted | TaskEnded)]
