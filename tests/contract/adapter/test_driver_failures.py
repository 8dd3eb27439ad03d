"""A child whose model cannot answer: each failure says what it is and what to do."""

import asyncio

import pytest

from astrbot_plugin_subagents.manager.host import AgentOutcome
from astrbot_plugin_subagents.manager.models import Failure
from support.child_stage import ChildStage
from support.recording import Recording
from support.replies import call, empty, fail, say

pytestmark = [pytest.mark.host, pytest.mark.asyncio(loop_scope="session")]


@pytest.mark.parametrize("status", [400, 401, 403, 500])
async def test_a_refusing_provider_is_named_with_its_own_words(
    stage: ChildStage, status: int
) -> None:
    # AstrBot asks again after some of them
    stage.model.child("scout", then=fail(status, "no model today"))

    outcome, seen = await stage.drive()

    assert outcome.failure is not None
    assert outcome.failure.code == "provider_error"
    for words in ("scripted-model", "'scripted'", "no model today"):
        assert words in outcome.failure.message
    assert seen.order == ["started", "messages_added", "before_model_call"]


async def test_secrets_do_not_leave_the_host_in_an_error(stage: ChildStage) -> None:
    words = "Incorrect API key: test-key, sk-proj-abcdefghijkl, Bearer abc.def.ghi"

    outcome, _ = await stage.drive(fail(401, words))

    assert outcome.failure is not None
    for secret in ("test-key", "sk-proj", "abc.def"):
        assert secret not in outcome.failure.message
    assert "Incorrect API key: ***" in outcome.failure.message


async def test_an_empty_answer_is_a_failure(stage: ChildStage) -> None:
    outcome, seen = await stage.drive(empty(), empty(), empty())

    assert outcome.failure is not None
    assert outcome.failure.code == "provider_error"
    assert seen.told("model_replied") == []


async def test_a_failure_behind_a_tool_call_keeps_what_came_before(stage: ChildStage) -> None:
    outcome, seen = await stage.drive(call("search", text="I search."), fail(401))

    assert outcome.failure is not None
    assert [body["role"] for body in seen.messages] == ["user", "assistant", "tool"]


@pytest.mark.parametrize("provider_id", ["gone", "switched_off"])
async def test_a_provider_that_is_not_there_is_no_other_one(
    stage: ChildStage, provider_id: str
) -> None:
    seen = Recording()

    outcome = await stage.host.drive(stage.request(provider_id=provider_id), seen)

    assert outcome == AgentOutcome(
        failure=Failure(
            code="provider_unavailable",
            message=f"The provider {provider_id!r} does not exist or is disabled. Use another "
            "provider_id, or enable it in AstrBot's WebUI.",
        )
    )
    assert seen.order == []


async def test_a_chat_without_any_model_says_so(
    stage: ChildStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    manager = stage.bot.context.provider_manager
    monkeypatch.setattr(manager, "provider_insts", [])
    monkeypatch.setattr(manager, "inst_map", {})
    monkeypatch.setattr(manager, "curr_provider_inst", None)

    outcome = await stage.host.drive(stage.request(), Recording())

    assert outcome.failure is not None
    assert outcome.failure.code == "provider_unavailable"
    assert "no chat model" in outcome.failure.message


async def test_a_configured_fall_back_takes_over(
    stage: ChildStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    context = stage.bot.context
    first = context.get_provider_by_id("scripted")
    spare = type(first)({**first.provider_config, "id": "spare"}, first.provider_settings)
    monkeypatch.setitem(context.provider_manager.inst_map, "spare", spare)
    await stage.bot.configure(
        extra={
            "provider_settings": {"fallback_chat_models": ["spare", "gone"]},
            "agent_runner": {"config": {"model": {"fallback_provider_ids": ["spare", "gone"]}}},
        }
    )

    outcome, _ = await stage.drive(fail(401), say("from the spare one"))
    await spare.terminate()

    assert outcome == AgentOutcome(text="from the spare one")


async def test_a_tool_that_takes_too_long_is_ended_by_the_host(stage: ChildStage) -> None:
    stage.plugin.plays.append(("never", False, asyncio.Event()))
    await stage.bot.configure(tool_call_timeout=1)

    outcome, seen = await stage.drive(call("search"), say("it took too long"))

    assert outcome == AgentOutcome(text="it took too long")
    (result,) = seen.told("tool_finished")
    assert result.is_error
    assert "timeout" in result.output
    assert stage.plugin.running == 0
