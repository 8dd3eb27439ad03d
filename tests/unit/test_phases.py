"""The phases of a copy: what it is asked, in which order, with which tools, within which limit."""

from typing import Any

import pytest

from astrbot_plugin_subagents.manager import Run, RunState, Settings
from astrbot_plugin_subagents.manager.host import ModelCallPlan
from astrbot_plugin_subagents.manager.models import MessageBody
from astrbot_plugin_subagents.manager.runs.phases import PHASES, Phases, least_steps, opening
from astrbot_plugin_subagents.manager.task_shape import AgentType
from astrbot_plugin_subagents.manager.testing import Act, Hang, Say, Use, says
from support import core
from support.task_calls import runs_of

make_core = core.make_core

DRAFT, CRITIQUE, MENDING = (phase.instruction for phase in PHASES[AgentType.REFLECTION])
PLANNING, DOING = (phase.instruction for phase in PHASES[AgentType.PLAN])
ANSWERING = PHASES[AgentType.SIMPLE][0].instruction


async def carried_out(
    make_core: core.MakeCore, agent_type: str, *acts: Act, **options: Any
) -> tuple[core.Core, Run]:
    """One task of a kind, played by these acts."""
    it = await make_core(says(*acts))
    turn = await it.turn()
    reply = await it.call(
        "task", turn, tasks=[{"task": "the task", "agent_type": agent_type, **options}]
    )
    (run,) = await runs_of(it, reply)
    return it, run


def asked(it: core.Core) -> list[str]:
    """What the child was told to do, phase by phase."""
    (request,) = it.host.requests
    first = request.prompt.removeprefix("the task").strip()
    return [first, *(plan.instruction for plan in it.host.plans if plan.instruction)]


def with_tools(it: core.Core) -> list[bool]:
    """For each model call whether the child may use its tools."""
    return [plan.with_tools and not plan.final_instruction for plan in it.host.plans]


async def stored_texts(it: core.Core, run: Run) -> list[tuple[str, str]]:
    rows = await it.store.load_messages(run.conversation, newest=100)
    return [(row.body["role"], str(row.body["content"])) for row in rows]


async def test_react_answers_as_soon_as_it_can(make_core: core.MakeCore) -> None:
    it, run = await carried_out(make_core, "react", Use(tool="search"), Say(text="the answer"))

    assert asked(it) == [""]
    assert with_tools(it) == [True, True]
    assert (run.state, run.steps, run.last_text) == (RunState.COMPLETED, 2, "the answer")


async def test_simple_answers_once_and_has_no_tools(make_core: core.MakeCore) -> None:
    it, run = await carried_out(make_core, "simple", Say(text="the answer"), Say(text="too much"))

    (request,) = it.host.requests
    assert asked(it) == [ANSWERING]
    assert it.host.plans == [ModelCallPlan(with_tools=False)]
    assert (request.tools.assigned, request.own_tools) == ((), ())
    assert (run.state, run.steps, run.last_text) == (RunState.COMPLETED, 1, "the answer")
    assert run.cut_short == ""


async def test_simple_that_calls_a_tool_all_the_same_fails(make_core: core.MakeCore) -> None:
    _, run = await carried_out(make_core, "simple", Use(tool="search"), Say(text="too late"))

    assert (run.state, run.steps) == (RunState.FAILED, 1)
    assert run.tools_used == ()


async def test_plan_plans_without_tools_and_then_carries_out(make_core: core.MakeCore) -> None:
    it, run = await carried_out(
        make_core, "plan", Say(text="1. search"), Use(tool="search"), Say(text="found")
    )

    assert asked(it) == [PLANNING, DOING]
    assert with_tools(it) == [False, True, True]
    assert (run.state, run.steps, run.last_text) == (RunState.COMPLETED, 3, "found")
    told = await stored_texts(it, run)
    assert told[:3] == [
        ("user", f"the task\n\n{PLANNING}"),
        ("assistant", "1. search"),
        ("user", DOING),
    ]
    assert told[-1] == ("assistant", "found")


async def test_reflection_drafts_criticises_and_mends(make_core: core.MakeCore) -> None:
    it, run = await carried_out(
        make_core,
        "reflection",
        Use(tool="search"),
        Say(text="the draft"),
        Say(text="too short"),
        Use(tool="search"),
        Say(text="the better one"),
        Say(text="never"),
    )

    assert asked(it) == [DRAFT, CRITIQUE, MENDING]
    assert with_tools(it) == [True, True, False, True, True]
    assert (run.state, run.steps, run.last_text) == (RunState.COMPLETED, 5, "the better one")
    told = [text for role, text in await stored_texts(it, run) if role == "user"]
    assert told == [f"the task\n\n{DRAFT}", CRITIQUE, MENDING]


async def test_a_critique_that_calls_a_tool_fails(make_core: core.MakeCore) -> None:
    _, run = await carried_out(
        make_core, "reflection", Say(text="the draft"), Use(tool="search"), Say(text="x")
    )

    assert (run.state, run.steps, run.last_text) == (RunState.FAILED, 2, "the draft")


async def test_reflection_within_exactly_three_calls_has_one_for_each_phase(
    make_core: core.MakeCore,
) -> None:
    it, run = await carried_out(
        make_core,
        "reflection",
        Say(text="the draft"),
        Say(text="too short"),
        Say(text="the better one"),
        max_steps=3,
    )

    assert asked(it) == [DRAFT, CRITIQUE, MENDING]
    assert with_tools(it) == [False, False, False]
    assert [bool(plan.final_instruction) for plan in it.host.plans] == [False, False, True]
    assert (run.state, run.steps, run.last_text) == (RunState.COMPLETED, 3, "the better one")


async def test_a_phase_that_would_eat_up_the_rest_is_told_to_end(make_core: core.MakeCore) -> None:
    it, run = await carried_out(
        make_core,
        "reflection",
        Use(tool="search"),
        Use(tool="search"),
        Say(text="the draft"),
        Say(text="too short"),
        Say(text="the better one"),
        max_steps=5,
    )

    assert with_tools(it) == [True, True, False, False, False]
    assert [note.startswith("Write it now") for note in it.host.notes] == [True]
    assert (run.state, run.steps, run.last_text) == (RunState.COMPLETED, 5, "the better one")


async def test_plan_within_two_calls_has_one_for_the_plan(make_core: core.MakeCore) -> None:
    it, run = await carried_out(
        make_core, "plan", Say(text="1. guess"), Say(text="guessed"), max_steps=2
    )

    assert asked(it) == [PLANNING, DOING]
    assert with_tools(it) == [False, False]
    assert (run.state, run.steps, run.last_text) == (RunState.COMPLETED, 2, "guessed")


async def test_all_phases_count_into_the_same_limit(make_core: core.MakeCore) -> None:
    it, run = await carried_out(
        make_core,
        "plan",
        Say(text="the plan"),
        *[Use(tool="search", arguments=f'{{"page": {n}}}') for n in range(4)],
        Say(text="what I have"),
        max_steps=6,
    )

    assert with_tools(it) == [False, True, True, True, True, False]
    assert (run.state, run.steps, run.cut_short) == (RunState.COMPLETED, 6, "step_limit")


async def test_a_tight_setting_counts_where_a_task_names_no_limit(
    make_core: core.MakeCore,
) -> None:
    script = says(Say(text="1"), Say(text="2"), Say(text="3"))
    it = await make_core(script, settings=Settings(max_steps=3))
    turn = await it.turn()

    reply = await it.call("task", turn, tasks=[{"task": "x", "agent_type": "reflection"}])

    (run,) = await runs_of(it, reply)
    assert (run.state, run.steps, run.last_text) == (RunState.COMPLETED, 3, "3")
    assert [bool(plan.final_instruction) for plan in it.host.plans] == [False, False, True]


async def reloaded(make_core: core.MakeCore, agent_type: str, *acts: Act) -> tuple[core.Core, Run]:
    """A bot whose plugin was reloaded while a copy waited for its model behind these acts."""
    hang = Hang()
    it = await make_core(says(*acts, hang))
    turn = await it.turn()
    reply = await it.call(
        "task",
        turn,
        tasks=[{"task": "the task", "agent_type": agent_type, "max_steps": 8}],
        background_task=True,
    )
    await hang.reached.wait()
    (run,) = await runs_of(it, reply)
    await it.sessions.close()
    again = says(Use(tool="search"), Say(text="one"), Say(text="two"), Say(text="three"))
    root = await make_core(again, store=it.store, clock=it.clock)
    await root.until_over(run.run_id)
    return root, await root.run(run.run_id)


async def test_reflection_goes_on_in_the_phase_in_which_it_was_cut_off(
    make_core: core.MakeCore,
) -> None:
    root, run = await reloaded(
        make_core,
        "reflection",
        Say(text="the draft"),
        Say(text="too short"),
        Use(tool="search", text="I mend it."),
    )

    (request,) = root.host.requests
    told = [body["content"] for body in request.resume if body["role"] == "user"]
    assert told == [f"the task\n\n{DRAFT}", CRITIQUE, MENDING]
    assert [plan.instruction for plan in root.host.plans] == ["", ""]
    assert (run.state, run.steps, run.last_text) == (RunState.COMPLETED, 5, "one")


async def test_a_plan_goes_on_with_its_carrying_out(make_core: core.MakeCore) -> None:
    root, run = await reloaded(
        make_core, "plan", Say(text="the plan"), Use(tool="search", text="I do it.")
    )

    assert [plan.instruction for plan in root.host.plans] == ["", ""]
    assert [plan.with_tools for plan in root.host.plans] == [True, True]
    assert (run.state, run.last_text) == (RunState.COMPLETED, "one")


async def test_a_draft_that_was_cut_off_goes_on_as_a_draft(make_core: core.MakeCore) -> None:
    root, run = await reloaded(make_core, "reflection", Use(tool="search"))

    assert [plan.instruction for plan in root.host.plans] == ["", "", CRITIQUE, MENDING]
    assert [plan.with_tools for plan in root.host.plans] == [True, True, False, True]
    assert (run.state, run.last_text) == (RunState.COMPLETED, "three")


def test_each_kind_needs_a_call_for_each_of_its_phases() -> None:
    assert {kind: least_steps(kind) for kind in AgentType} == {
        AgentType.REACT: 1,
        AgentType.SIMPLE: 1,
        AgentType.PLAN: 2,
        AgentType.REFLECTION: 3,
    }


@pytest.mark.parametrize("kind", AgentType)
def test_a_kind_goes_through_its_phases_and_ends(kind: AgentType) -> None:
    phases = Phases(kind)

    told = [opening(kind)]
    while instruction := phases.go_on():
        told.append(instruction)

    assert told == [phase.instruction for phase in PHASES[kind]]
    assert phases.go_on() == ""


@pytest.mark.parametrize(
    "body",
    [
        {"role": "assistant", "content": CRITIQUE},
        {"role": "tool", "content": CRITIQUE},
        {"role": "user", "content": f"{CRITIQUE} "},
        {"role": "user", "content": [{"type": "text", "text": CRITIQUE}]},
        {"role": "user"},
    ],
)
def test_only_what_a_child_was_told_itself_counts_as_a_phase(body: MessageBody) -> None:
    phases = Phases(AgentType.REFLECTION)

    phases.catch_up([{"role": "user", "content": "the task"}, body])

    assert phases.go_on() == CRITIQUE


def test_a_kind_without_phases_knows_no_note_and_withholds_nothing() -> None:
    phases = Phases()

    assert (phases.note(1), phases.withholds_tools(1), phases.only_answers()) == ("", False, False)
