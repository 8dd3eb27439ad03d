# ruff: noqa: RUF001 - a text in Chinese is meant
"""Whole conversations of the stand-in with a host whose tools are played here."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from standin.main_agent import MAX_AGENTS, MAX_ANSWERS, MAX_WAITS
from standin.mind import respond
from support.standin_host import Host, request

EXAMPLE = "How do I protect a sub-agent, and what happens when a run times out?"


@pytest.mark.parametrize("light", [False, True], ids=["full", "skills_like"])
async def test_two_questions_are_looked_up_side_by_side(light: bool) -> None:
    host = Host(light=light)

    answer = await host.ask(EXAMPLE)

    assert [name for name, _ in host.calls] == [
        "create_subagent",
        "create_subagent",
        "transfer_to_protect",
        "transfer_to_run_timeout",
        "wait_for_subagent",
    ]
    assert [each["tools"] for each in host.named("create")] == [["search_project_docs"]] * 2
    assert [each["background_task"] for each in host.named("transfer")] == [True, True]
    assert host.named("wait") == [{"task_id": ["t0", "t1"], "mode": "all", "timeout": 60}]
    assert "> Call `protect_subagent` with its name.\n\nsource: docs/guide.md#Protecting" in answer
    assert "> When a run times out, it keeps its last text.\n\nsource: docs/guide.md#Time" in answer
    assert answer.index("#Protecting") < answer.index("#Time")
    assert "I am an offline stand-in, not a language model" in answer


async def test_one_question_is_given_to_one_sub_agent_in_the_foreground() -> None:
    host = Host()

    answer = await host.ask("What does a sub-agent remember?", "<system>Now is 12:00</system>")

    assert [name for name, _ in host.calls] == [
        "create_subagent",
        "transfer_to_remember",
    ]
    assert host.named("transfer")[0]["background_task"] is False
    assert "source: docs/guide.md#Memory" in answer


async def test_many_questions_share_the_sub_agents_that_may_be_made() -> None:
    host = Host()

    answer = await host.ask("1. protecting 2. time 3. memory 4. name 5. zebras")

    assert len(host.named("create")) == MAX_AGENTS
    inputs = [each["input"] for each in host.named("transfer")]
    assert inputs == ["protecting", "time", "memory", "name", "zebras"]
    assert len(host.named("wait")) == 1
    assert "**zebras**\nThe documentation says nothing about it" in answer


async def test_a_taken_name_is_replaced_by_another() -> None:
    host = Host(early=("run_timeout",))

    answer = await host.ask(EXAMPLE)

    names = [each["name"] for each in host.named("create")]
    assert names[:2] == ["protect", "run_timeout"]
    assert len(names) == 3
    assert "#Protecting" in answer
    assert "#Time" in answer


async def test_without_a_free_place_a_sub_agent_that_exists_gets_the_work() -> None:
    host = Host(early=("helper",), places=1)

    answer = await host.ask(EXAMPLE)

    assert {name for name, _ in host.calls if name.startswith("transfer")} == {"transfer_to_helper"}
    assert "#Protecting" in answer
    assert "#Time" in answer


async def test_one_fixed_transfer_tool_is_used_where_there_is_one() -> None:
    host = Host(offers="single")

    answer = await host.ask(EXAMPLE)

    assert [each["name"] for each in host.named("transfer_to_subagent")] == [
        "protect",
        "run_timeout",
    ]
    assert "#Time" in answer


@pytest.mark.parametrize("tool", ["create_subagent", "transfer_to_time", "wait_for_subagent"])
async def test_an_error_of_a_tool_is_told(tool: str) -> None:
    host = Host(refused={tool: "Error: The sub-agents plugin is being reloaded."})

    answer = await host.ask("1. time 2. protecting")

    assert "being reloaded" in answer or "Still running: t0" in answer
    assert host.model_calls <= 5


async def test_an_unfinished_task_is_waited_for_again_but_not_for_ever() -> None:
    patient, tired = Host(unfinished=2), Host(unfinished=99)

    found = await patient.ask(EXAMPLE)
    given_up = await tired.ask(EXAMPLE)

    assert "#Time" in found
    assert len(tired.named("wait")) == MAX_WAITS
    assert "Still running: t1" in given_up


@given(reply=st.text(alphabet="task_id: t0\nErornam<>|completed running", max_size=80))
@settings(max_examples=60, deadline=None)
async def test_no_reply_of_the_tools_makes_it_go_on_for_ever(reply: str) -> None:
    tools = ("create_subagent", "transfer_to_protecting", "transfer_to_time", "wait_for_subagent")
    host = Host(refused=dict.fromkeys(tools, reply))

    answer = await host.ask("1. time 2. protecting 3. memory 4. protect memory")

    assert "offline stand-in" in answer
    assert host.model_calls <= MAX_ANSWERS + 1


async def test_small_talk_is_answered_without_tools() -> None:
    host = Host()

    answer = await host.ask("Hello!")

    assert host.calls == []
    assert "Ask me something about this plugin" in answer
    assert "offline stand-in" in answer


async def test_a_message_without_words_is_answered_without_tools() -> None:
    host = Host()

    assert "no words" in await host.ask("?!")
    assert host.calls == []


async def test_an_order_is_carried_out_after_the_questions() -> None:
    host = Host()

    answer = await host.ask("What is memory? Protect memory. List the sub-agents.")

    assert [name for name, _ in host.calls] == [
        "create_subagent",
        "transfer_to_memory",
        "protect_subagent",
        "list_subagents",
    ]
    assert host.named("protect") == [{"name": "memory"}]
    assert "protect_subagent is done." in answer


async def test_a_chinese_question_gets_a_chinese_answer_from_english_documents() -> None:
    answer = await Host().ask("如何保护子代理？")

    assert "source: docs/guide.md#Protecting" in answer
    assert "我是离线替身" in answer


async def test_results_of_earlier_work_are_told_beside_the_answer() -> None:
    earlier = "[state]\nResults:\nFindings for: colours\n> Red.\nsource: a.md#Colours\nend"

    answer = await Host().ask("What is memory?", earlier)

    assert answer.index("#Memory") < answer.index("source: a.md#Colours")


async def test_a_message_of_results_is_passed_on_without_new_work() -> None:
    host = Host()

    answer = await host.ask("A task is done.\nFindings for: colours\n> Red.\nsource: a.md#Colours")

    assert host.calls == []
    assert "> Red.\n\nsource: a.md#Colours" in answer


async def test_an_earlier_turn_is_not_taken_for_this_one() -> None:
    host = Host()
    first = [{"role": "user", "content": "What is memory?"}]
    await host.turn(first, main=True)
    host.calls.clear()

    answer = await host.turn(
        [*first, {"role": "assistant", "content": "..."}, {"role": "user", "content": "time"}],
        main=True,
    )

    assert [name for name, _ in host.calls] == ["create_subagent", "transfer_to_time"]
    assert "#Time" in answer


async def test_the_last_step_without_tools_answers_from_what_there_is() -> None:
    host = Host()
    messages: list[dict[str, Any]] = [{"role": "user", "content": "What is memory?"}]
    await host.turn(messages, main=True)
    notice = {"role": "user", "content": "[SYSTEM NOTICE: budget exhausted] Stop."}

    answer = await respond(request([*messages, notice]))

    assert "source: docs/guide.md#Memory" in answer.text
