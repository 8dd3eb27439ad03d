"""What every `AgentDriver` does, as tests that run on the fake host and on the real one.

A test class derives from `DriverContract` and has a fixture `stage`: it makes a driver whose child
plays the given acts. The child may have one tool, `search`.
"""

import asyncio
from collections.abc import Sequence
from typing import Protocol

import pytest

from astrbot_plugin_subagents.manager.host import (
    AgentDriver,
    AgentOutcome,
    AgentRequest,
    ModelCallPlan,
    ToolScope,
)
from astrbot_plugin_subagents.manager.models import (
    AgentName,
    MessageBody,
    Origin,
    RunId,
    SessionId,
    Usage,
)
from astrbot_plugin_subagents.manager.testing import Act, Fail, Hang, Say, Use

from .recording import Recording


class Stage(Protocol):
    """Sets up a child."""

    session: SessionId

    async def driver(self, *acts: Act) -> AgentDriver:
        """A driver whose child plays these acts; each tool call goes to `search`."""
        ...


class _Halt(Exception):
    """What an observer raises in these tests."""


class _Asked(Recording):
    """Keeps the newest message that it knew each time an answer was told."""

    def __init__(self) -> None:
        super().__init__()
        self.known: list[MessageBody] = []

    async def answered(self, text: str) -> bool:
        self.known.append(self.messages[-1])
        return await super().answered(text)


class DriverContract:
    """The stories."""

    async def test_an_answer_ends_the_run_and_is_told_in_order(self, stage: Stage) -> None:
        driver = await stage.driver(Say(text="Forty-two.", usage=Usage(input=30, output=4)))
        seen = Recording()

        outcome = await driver.drive(_request(stage), seen)

        assert outcome == AgentOutcome(text="Forty-two.")
        assert seen.order == [
            "started",
            "messages_added",
            "before_model_call",
            "model_replied",
            "messages_added",
        ]
        assert seen.messages == [
            {"role": "user", "content": "the task"},
            {"role": "assistant", "content": "Forty-two."},
        ]
        assert seen.usage == Usage(input=30, output=4)

    async def test_a_tool_call_is_told_between_its_reply_and_its_messages(
        self, stage: Stage
    ) -> None:
        driver = await stage.driver(
            Use(tool="search", arguments='{"text": "moon"}', output="found", text="I search."),
            Say(text="done"),
        )
        seen = Recording()

        outcome = await driver.drive(_request(stage), seen)

        assert outcome == AgentOutcome(text="done")
        assert seen.order[2:8] == [
            "before_model_call",
            "model_replied",
            "tool_started",
            "tool_finished",
            "messages_added",
            "before_model_call",
        ]
        (call,), (result,) = seen.told("tool_started"), seen.told("tool_finished")
        assert (call.name, call.arguments) == ("search", '{"text": "moon"}')
        assert (result.call_id, result.name) == (call.call_id, "search")
        assert (result.output, result.is_error) == ("found", False)
        _, asking, answer, _ = seen.messages
        assert (asking["role"], asking["content"]) == ("assistant", "I search.")
        assert [each["id"] for each in asking["tool_calls"]] == [call.call_id]
        assert answer == {"role": "tool", "tool_call_id": call.call_id, "content": "found"}

    async def test_a_failing_tool_is_told_as_an_error_and_the_run_goes_on(
        self, stage: Stage
    ) -> None:
        driver = await stage.driver(
            Use(tool="search", output="broken", is_error=True), Say(text="it did not work")
        )
        seen = Recording()

        outcome = await driver.drive(_request(stage), seen)

        assert outcome == AgentOutcome(text="it did not work")
        assert [each.is_error for each in seen.told("tool_finished")] == [True]

    async def test_a_model_that_fails_is_an_outcome(self, stage: Stage) -> None:
        driver = await stage.driver(Use(tool="search"), Fail())
        seen = Recording()

        outcome = await driver.drive(_request(stage), seen)

        assert outcome.text == ""
        assert outcome.failure is not None
        assert outcome.failure.code == "provider_error"
        assert len(seen.told("model_replied")) == 1
        assert [body["role"] for body in seen.messages] == ["user", "assistant", "tool"]

    async def test_a_final_instruction_ends_the_run_with_the_next_answer(
        self, stage: Stage
    ) -> None:
        driver = await stage.driver(Use(tool="search"), Say(text="so far"), Say(text="too much"))
        seen = Recording(ModelCallPlan(), ModelCallPlan(final_instruction="Answer now."))

        outcome = await driver.drive(_request(stage), seen)

        assert outcome == AgentOutcome(text="so far")
        assert len(seen.told("before_model_call")) == 2
        assert "Answer now." not in [body["content"] for body in seen.messages]

    async def test_an_answer_that_is_not_the_end_is_followed_by_a_next_model_call(
        self, stage: Stage
    ) -> None:
        driver = await stage.driver(
            Say(text="a draft"), Use(tool="search"), Say(text="the report"), Say(text="too much")
        )
        seen = Recording()
        seen.phases = 1

        outcome = await driver.drive(_request(stage), seen)

        assert outcome == AgentOutcome(text="the report")
        assert seen.answers == ["a draft", "the report"]
        assert [body["role"] for body in seen.messages] == [
            "user",
            "assistant",
            "assistant",
            "tool",
            "assistant",
        ]
        assert len(seen.told("before_model_call")) == len(seen.told("model_replied")) == 3

    async def test_an_answer_is_asked_about_after_its_messages_were_told(
        self, stage: Stage
    ) -> None:
        driver = await stage.driver(Say(text="a draft"), Say(text="the report"))
        seen = _Asked()
        seen.phases = 1

        await driver.drive(_request(stage), seen)

        assert seen.known == [
            {"role": "assistant", "content": "a draft"},
            {"role": "assistant", "content": "the report"},
        ]

    async def test_an_instruction_is_kept_and_told_as_added_before_the_call(
        self, stage: Stage
    ) -> None:
        driver = await stage.driver(Say(text="a draft"), Say(text="the report"))
        seen = Recording(ModelCallPlan(), ModelCallPlan(instruction="Now mend it."))
        seen.phases = 1

        outcome = await driver.drive(_request(stage), seen)

        assert outcome == AgentOutcome(text="the report")
        assert seen.messages == [
            {"role": "user", "content": "the task"},
            {"role": "assistant", "content": "a draft"},
            {"role": "user", "content": "Now mend it."},
            {"role": "assistant", "content": "the report"},
        ]
        assert seen.order[-4:] == [
            "before_model_call",
            "messages_added",
            "model_replied",
            "messages_added",
        ]

    async def test_tools_that_are_withheld_from_one_call_are_back_in_the_next(
        self, stage: Stage
    ) -> None:
        driver = await stage.driver(
            Say(text="a plan"), Use(tool="search", output="found"), Say(text="the report")
        )
        seen = Recording(ModelCallPlan(with_tools=False), ModelCallPlan(instruction="Go on."))
        seen.phases = 1

        outcome = await driver.drive(_request(stage), seen)

        assert outcome == AgentOutcome(text="the report")
        (result,) = seen.told("tool_finished")
        assert (result.output, result.is_error) == ("found", False)

    async def test_a_tool_call_while_tools_are_withheld_is_not_made_and_ends_the_run(
        self, stage: Stage
    ) -> None:
        # a host may ask such a model again
        driver = await stage.driver(*[Use(tool="search")] * 3)
        seen = Recording(ModelCallPlan(with_tools=False))
        seen.phases = 1

        outcome = await driver.drive(_request(stage), seen)

        assert outcome.failure is not None
        assert seen.told("tool_started") == []
        assert seen.answers == []

    async def test_nobody_asks_about_an_answer_to_a_final_instruction(self, stage: Stage) -> None:
        driver = await stage.driver(Say(text="so far"), Say(text="too much"))
        seen = Recording(ModelCallPlan(final_instruction="Answer now."))
        seen.phases = 1

        outcome = await driver.drive(_request(stage), seen)

        assert outcome == AgentOutcome(text="so far")
        assert seen.answers == []

    async def test_a_run_that_is_taken_up_again_does_not_repeat_what_was_recorded(
        self, stage: Stage
    ) -> None:
        recorded = (
            {"role": "user", "content": "the task"},
            {"role": "assistant", "content": "I begin."},
        )
        driver = await stage.driver(Say(text="as I was saying"))
        seen = Recording()

        outcome = await driver.drive(_request(stage, resume=recorded), seen)

        assert outcome == AgentOutcome(text="as I was saying")
        assert seen.messages == [{"role": "assistant", "content": "as I was saying"}]

    @pytest.mark.parametrize(
        ("where", "last_told"),
        [
            ("started", "started"),
            ("before_model_call", "before_model_call"),
            ("model_replied", "model_replied"),
            ("tool_started", "tool_started"),
            ("tool_finished", "tool_finished"),
        ],
    )
    async def test_what_an_observer_raises_ends_the_run_and_passes_through(
        self, stage: Stage, where: str, last_told: str
    ) -> None:
        driver = await stage.driver(Use(tool="search"), Say(text="never"))
        halt = _Halt()
        seen = Recording(**{where: halt})

        with pytest.raises(_Halt) as raised:
            await driver.drive(_request(stage), seen)

        assert raised.value is halt
        assert seen.order[-1] == last_told

    async def test_a_cancellation_stops_a_model_call_and_nothing_more_is_told(
        self, stage: Stage
    ) -> None:
        driver = await stage.driver(Use(tool="search"), Hang())
        seen = Recording()
        run = asyncio.create_task(driver.drive(_request(stage), seen))
        await seen.heard("before_model_call", 2)

        await _cancel(run)

        assert seen.order[-1] == "before_model_call"
        assert [body["role"] for body in seen.messages] == ["user", "assistant", "tool"]

    async def test_a_cancellation_stops_a_tool_and_nothing_more_is_told(self, stage: Stage) -> None:
        driver = await stage.driver(Use(tool="search", gate=asyncio.Event()), Say(text="never"))
        seen = Recording()
        run = asyncio.create_task(driver.drive(_request(stage), seen))
        await seen.heard("tool_started")

        await _cancel(run)

        assert seen.order[-1] == "tool_started"


def _request(stage: Stage, *, resume: Sequence[MessageBody] = ()) -> AgentRequest:
    return AgentRequest(
        run_id=RunId("run1"),
        session=stage.session,
        agent=AgentName("scout"),
        system_prompt="You are the sub-agent scout.",
        prompt="the task",
        resume=resume,
        tools=ToolScope(assigned=("search",)),
        origin=Origin(sender_id="alice"),
    )


async def _cancel(run: asyncio.Task[AgentOutcome]) -> None:
    run.cancel()
    async with asyncio.timeout(2):
        with pytest.raises(asyncio.CancelledError):
            await run
