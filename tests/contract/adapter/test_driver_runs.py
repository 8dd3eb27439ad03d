"""How a child works in a real AstrBot: its requests, its notes, its memory, its pictures."""

import asyncio

import pytest

from astrbot_plugin_subagents.manager.host import (
    AgentOutcome,
    ModelCallPlan,
    ToolScope,
)
from astrbot_plugin_subagents.manager.models import AgentName, RunId, Usage
from standin.protocol import Usage as WireUsage
from support.child_stage import ChildStage, handle_of
from support.recording import Recording
from support.replies import after, broken_call, call, calls, say

pytestmark = [pytest.mark.host, pytest.mark.asyncio(loop_scope="session")]


async def test_a_child_gets_its_prompt_its_memory_its_task_and_its_notes(stage: ChildStage) -> None:
    history = (
        {"role": "user", "content": "an earlier task"},
        {"role": "assistant", "content": "an earlier answer"},
    )

    outcome, seen = await stage.drive(say("done"), history=history, notes=("It is noon.",))

    assert outcome == AgentOutcome(text="done")
    (request,) = stage.model.requests_of("scout")
    task = [{"type": "text", "text": "the task"}, {"type": "text", "text": "It is noon."}]
    assert request.messages == [
        {"role": "system", "content": "You are the sub-agent scout."},
        *history,
        {"role": "user", "content": task},
    ]
    assert request.tool_names() == ("search",)
    assert request.stream is False
    assert seen.messages[0] == {"role": "user", "content": "the task"}
    (started,) = seen.told("started")
    assert (started.provider_id, started.model) == ("scripted", "scripted-model")
    assert started.tools == ("search",)


async def test_tokens_are_told_for_each_call_and_cached_ones_apart(stage: ChildStage) -> None:
    first = WireUsage(prompt_tokens=100, completion_tokens=7, cached_tokens=60)
    second = WireUsage(prompt_tokens=150, completion_tokens=3, cached_tokens=110)
    asking = call("search", {"text": "moon"})

    _, seen = await stage.drive(
        lambda _: type(asking)(tool_calls=asking.tool_calls, usage=first), say("ok", usage=second)
    )

    assert [reply.usage for reply in seen.told("model_replied")] == [
        Usage(input=40, cached=60, output=7),
        Usage(input=40, cached=110, output=3),
    ]


async def test_texts_are_sent_as_plain_strings_again(stage: ChildStage) -> None:
    await stage.drive(call("search", {"text": "moon"}, text="I search."), say("ok"))

    sent = stage.model.requests_of("scout")[1].messages
    assert [each["content"] for each in sent[1:]] == ["the task", "I search.", "found moon"]


async def test_several_calls_in_one_answer_run_one_after_another(stage: ChildStage) -> None:
    _, seen = await stage.drive(
        calls(("search", {"text": "one"}), ("search", {"text": "two"})), say("ok")
    )

    assert seen.order[3:9] == [
        "model_replied",
        "tool_started",
        "tool_finished",
        "tool_started",
        "tool_finished",
        "messages_added",
    ]
    assert [each.output for each in seen.told("tool_finished")] == ["found one", "found two"]


async def test_two_children_at_once_do_not_mix(stage: ChildStage) -> None:
    gate = asyncio.Event()
    runs, seen = [], {}
    for name in ("anna", "boris"):
        search = call("search", {"text": name})
        stage.model.child(name, after(gate, search), say(f"{name} is done"))
        seen[name] = Recording()
        request = stage.request(
            run_id=RunId(name), agent=AgentName(name), system_prompt=f"You are {name}."
        )
        runs.append(asyncio.create_task(stage.host.drive(request, seen[name])))
        await stage.model.reached(name)
    gate.set()

    outcomes = await asyncio.gather(*runs)

    assert [outcome.text for outcome in outcomes] == ["anna is done", "boris is done"]
    for name in ("anna", "boris"):
        assert [each.output for each in seen[name].told("tool_finished")] == [f"found {name}"]
        assert seen[name].messages[-1]["content"] == f"{name} is done"


async def test_notes_go_to_the_end_stay_there_and_are_never_kept(stage: ChildStage) -> None:
    stage.model.child("scout", call("search"), call("search"), say("ok"))
    seen = Recording(
        ModelCallPlan(), ModelCallPlan(notes=("board: hello", "steering: left")), ModelCallPlan()
    )

    await stage.host.drive(stage.request(), seen)

    first, second, third = (each.messages for each in stage.model.requests_of("scout"))
    assert second[: len(first)] == first
    assert [each["content"] for each in second[-2:]] == ["board: hello", "steering: left"]
    assert third[: len(second)] == second
    assert "board: hello" not in [body["content"] for body in seen.messages]


async def test_a_final_instruction_withholds_the_tools_and_comes_last(stage: ChildStage) -> None:
    stage.model.child("scout", call("search"), say("this is what I have"))
    seen = Recording(
        ModelCallPlan(), ModelCallPlan(notes=("news",), final_instruction="Answer now.")
    )

    outcome = await stage.host.drive(stage.request(), seen)

    assert outcome == AgentOutcome(text="this is what I have")
    last = stage.model.requests_of("scout")[1]
    assert last.tools == []
    assert [each["content"] for each in last.messages[-2:]] == ["news", "Answer now."]


async def test_a_run_goes_on_from_what_was_recorded(stage: ChildStage) -> None:
    _, before = await stage.drive(call("search", {"text": "moon"}), say("unheard"))
    recorded = before.messages[:3]

    outcome, seen = await stage.drive(
        say("I went on"), resume=recorded, notes=("You were interrupted.",)
    )

    assert outcome == AgentOutcome(text="I went on")
    sent = stage.model.requests_of("scout")[-1].messages
    assert [each["role"] for each in sent] == ["system", "user", "assistant", "tool", "user"]
    assert sent[-1]["content"] == "You were interrupted."
    assert seen.messages == [{"role": "assistant", "content": "I went on"}]


async def test_a_child_without_tools_is_offered_none(stage: ChildStage) -> None:
    outcome, seen = await stage.drive(say("ok"), tools=ToolScope())

    assert outcome == AgentOutcome(text="ok")
    assert stage.model.requests_of("scout")[0].tools == []
    assert seen.told("started")[0].tools == ()


async def test_a_model_that_takes_no_tools_is_told_to_have_been_given_none(
    stage: ChildStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider = stage.bot.context.get_provider_by_id("scripted")
    monkeypatch.setitem(provider.provider_config, "modalities", ["text"])

    _, seen = await stage.drive(say("ok"))

    assert stage.model.requests_of("scout")[0].tools == []
    assert seen.told("started")[0].tools == ()


async def test_an_unknown_tool_is_told_as_an_error(stage: ChildStage) -> None:
    outcome, seen = await stage.drive(call("rm_rf"), say("there is no such tool"))

    assert outcome == AgentOutcome(text="there is no such tool")
    (result,) = seen.told("tool_finished")
    assert (result.name, result.is_error) == ("rm_rf", True)
    assert "rm_rf" in result.output


async def test_a_tool_that_is_not_the_childs_is_refused(stage: ChildStage) -> None:
    _, seen = await stage.drive(call("admin_only"), say("not mine"))

    assert seen.told("tool_finished")[0].is_error
    assert stage.plugin.calls == []


async def test_arguments_that_are_no_json_reach_the_tool_as_none(stage: ChildStage) -> None:
    _, seen = await stage.drive(broken_call("search", '{"text": '), say("ok"))

    assert [each.arguments for each in seen.told("tool_started")] == ["{}"]
    assert stage.plugin.calls == [("alice", "member", "")]


async def test_a_tool_that_answers_the_user_itself_does_not_end_the_child(
    stage: ChildStage,
) -> None:
    async with stage.turn() as turn:
        outcome, seen = await stage.drive(
            call("quiet", {"text": "psst"}),
            say("the user has it"),
            tools=ToolScope(assigned=("quiet",)),
            turn=turn,
        )
        sent = [each.text for each in handle_of(turn).event.sent]

    assert outcome == AgentOutcome(text="the user has it")
    assert seen.told("tool_finished")[0].is_error is False
    assert sent == ["psst"]
