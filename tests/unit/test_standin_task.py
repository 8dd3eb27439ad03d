"""How the stand-in uses the tool `task`, and how it works as a copy and as a fork."""

from typing import Any

import pytest

from astrbot_plugin_subagents.manager.runs.phases import PHASES
from standin.copies import phase_of
from standin.mind import respond
from standin.roles import FORK_TASK
from support.standin_host import Host, request
from support.standin_tasks import COPY_PROMPT, COPY_TOOLS, GROUP, block

THREE = "How do I protect a sub-agent, what happens when a run times out, and where is memory kept?"
PHASES_OF = {kind.value: [each.instruction for each in phases] for kind, phases in PHASES.items()}


def tasks_of(host: Host) -> list[dict[str, Any]]:
    (asked,) = host.named("task")
    tasks: list[dict[str, Any]] = asked["tasks"]
    return tasks


@pytest.mark.parametrize("light", [False, True], ids=["full", "skills_like"])
async def test_three_questions_are_looked_up_with_one_call(light: bool) -> None:
    host = Host(offers="task", light=light)

    answer = await host.ask(THREE)

    assert [name for name, _ in host.calls] == ["task"]
    assert tasks_of(host) == [
        {"id": "protect", "task": "How do I protect a sub-agent"},
        {"id": "run_timeout", "task": "what happens when a run times out"},
        {"id": "memory_kept", "task": "where is memory kept?"},
    ]
    assert answer.index("#Protecting") < answer.index("#Time") < answer.index("#Memory")
    assert answer.count("offline stand-in") == 1


@pytest.mark.parametrize(
    ("question", "agents"),
    [
        ("How do I protect a sub-agent, and what happens when a run times out?", 2),
        ("Who may review a chat?", 1),
        ("Summarise it.", 1),
    ],
)
async def test_fewer_questions_are_still_given_to_named_sub_agents(
    question: str, agents: int
) -> None:
    host = Host(offers="task")

    await host.ask(question)

    assert len(host.named("create")) == agents
    assert host.named("task") == []


async def test_where_task_is_refused_sub_agents_do_the_work() -> None:
    host = Host(offers="task", refused={"task": "Error: The tool `task` is off (`task.enabled`)."})

    answer = await host.ask(THREE)

    assert [name for name, _ in host.calls[:2]] == ["task", "create_subagent"]
    assert len(host.named("task")) == 1
    assert "#Protecting" in answer
    assert "#Time" in answer


async def test_a_summary_waits_for_what_it_sums_up() -> None:
    host = Host(offers="task")

    answer = await host.ask("What is memory? What is protecting? Then sum it up.")

    assert [each.get("depends_on") for each in tasks_of(host)] == [
        None,
        None,
        ["memory", "protecting"],
    ]
    summary = answer[answer.index("**sum it up.**") :]
    assert "docs/guide.md#Memory" in summary
    assert "docs/guide.md#Protecting" in summary


async def test_a_judgement_of_the_conversation_is_made_by_three_forks_that_have_read_it() -> None:
    host = Host(offers="task")
    chat: list[dict[str, Any]] = [{"role": "user", "content": "1. memory 2. zebras"}]
    first = await host.turn(chat, main=True)
    host.calls.clear()
    judge = {"role": "user", "content": "Judge our conversation from three sides."}

    answer = await host.turn([*chat, {"role": "assistant", "content": first}, judge], main=True)

    assert [each["context"] for each in tasks_of(host)] == ["fork"] * 3
    asked, sources, left_open = answer.split("\n\n**")
    assert "Requests before this one: 1." in asked
    assert "> 1. memory 2. zebras" in asked
    assert "from: docs/guide.md." in sources
    assert "source: docs/guide.md#Memory" in sources
    assert "Parts without an answer: 1 of 2." in left_open
    assert "> zebras" in left_open


@pytest.mark.parametrize(
    ("order", "verdict"),
    [
        ("Judge this chat.", "there is nothing to judge yet"),
        ("请评价我们的对话。", "还没有什么可以评价"),
        ("Оцени наш разговор.", "оценивать пока нечего"),
    ],
)
async def test_forks_of_an_empty_conversation_say_so_in_its_language(
    order: str, verdict: str
) -> None:
    answer = await Host(offers="task").ask(order)

    assert answer.count(verdict) == 3


async def test_a_fork_is_not_taken_for_the_main_agent_behind_its_tool_calls() -> None:
    called = {"id": "1", "function": {"name": "list_subagents", "arguments": "{}"}}
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": "What is memory?"},
        {"role": "assistant", "content": "Much."},
        {"role": "user", "content": "List the sub-agents. Judge our conversation."},
        {"role": "assistant", "tool_calls": [called]},
        {"role": "tool", "tool_call_id": "1", "content": "none"},
        {"role": "user", "content": f"{FORK_TASK}what was asked"},
    ]

    reply = await respond(request(messages, ("list_subagents", "task", "search_project_docs")))

    assert reply.tool_calls == ()
    assert "> What is memory?" in reply.text
    assert "Judge our conversation" not in reply.text


@pytest.mark.parametrize("way", ["plan", "reflection"])
async def test_a_copy_that_plans_or_reflects_comes_to_quotes_in_the_end(way: str) -> None:
    words = {"plan": "Plan first", "reflection": "Check yourself"}
    host = Host(offers="task")

    answer = await host.ask(f"{words[way]}: How do I protect memory?")

    (task,) = tasks_of(host)
    assert (task["task"], task["agent_type"]) == ("How do I protect memory?", way)
    assert "source: docs/guide.md#" in answer


def copy_request(*texts: str, tools: tuple[str, ...] = ()) -> Any:
    """A copy's request: its task, then its answers and the instructions of later phases."""
    roles = ("user", "assistant")
    messages = [{"role": roles[number % 2], "content": text} for number, text in enumerate(texts)]
    return request(messages, tools, COPY_PROMPT)


def test_every_phase_is_known_by_the_words_of_its_instruction() -> None:
    told = [phase.instruction for phases in PHASES.values() for phase in phases]

    known = {
        text: (
            phase_of(copy_request(f"What is memory?\n\n{text}")),
            phase_of(copy_request("What is memory?", "...", text)),
        )
        for text in told
        if text
    }

    assert len(known) == 6
    assert {len(set(phases)) for phases in known.values()} == {1}
    assert {phases[0] for phases in known.values()} == {
        "answer",
        "plan",
        "carry_out",
        "draft",
        "criticise",
        "improve",
    }


async def test_a_plan_names_the_words_to_search_for_and_finds_nothing_yet() -> None:
    plan = PHASES_OF["plan"][0]

    reply = await respond(copy_request(f"What does memory keep?\n\n{plan}"))

    assert reply.text.startswith("1. Call search_project_docs with the words: memory, keep.")
    assert "source:" not in reply.text


async def test_a_critique_names_what_the_draft_lacks_and_the_improvement_looks_for_that() -> None:
    opening, criticise, improve = PHASES_OF["reflection"]
    task = f"memory and zebras\n\n{opening}"
    draft = "Findings for: memory and zebras\n> It has memory.\nsource: a.md#Memory"

    critique = await respond(copy_request(task, draft, criticise))
    better = await respond(
        copy_request(task, draft, criticise, critique.text, improve, tools=COPY_TOOLS)
    )

    assert "None of them speaks of: zebras." in critique.text
    assert [each.arguments for each in better.tool_calls] == [{"query": "zebras", "limit": 4}]


async def test_a_draft_without_a_fault_is_the_report() -> None:
    opening, criticise, improve = PHASES_OF["reflection"]
    task, draft = f"memory\n\n{opening}", "Findings for: memory\n> Memory.\nsource: a.md#Memory"

    critique = await respond(copy_request(task, draft, criticise))
    better = await respond(
        copy_request(task, draft, criticise, critique.text, improve, tools=COPY_TOOLS)
    )

    assert "I found no fault" in critique.text
    assert better.text == draft


async def test_a_draft_that_found_nothing_is_not_looked_up_again() -> None:
    opening, criticise, improve = PHASES_OF["reflection"]
    told = (f"zebras\n\n{opening}", "Nothing found for: zebras", criticise, "Search.", improve)

    reply = await respond(copy_request(*told, tools=COPY_TOOLS))

    assert reply.tool_calls == ()
    assert reply.text == (
        "Nothing found for: zebras\nreason: no section of the documentation is about: zebras"
    )


async def test_the_last_step_without_tools_answers_from_the_tasks_that_are_done() -> None:
    host = Host(offers="task")
    messages: list[dict[str, Any]] = [{"role": "user", "content": THREE}]
    await host.turn(messages, main=True)
    notice = {"role": "user", "content": "[SYSTEM NOTICE: budget exhausted] Stop."}

    answer = await respond(request([*messages, notice]))

    assert "source: docs/guide.md#Memory" in answer.text


async def test_a_copy_without_tools_says_that_it_has_none() -> None:
    (simple,) = PHASES_OF["simple"]

    reply = await respond(copy_request(f"What is memory?\n\n{simple}"))

    assert reply.text.startswith("Nothing found for: What is memory?\nreason: I was given no tools")
    assert "offline stand-in" not in reply.text


async def test_tasks_that_are_not_done_in_time_are_waited_for_by_their_group() -> None:
    early = f"group_id: {GROUP}\n1 of 3 tasks completed.\n\n" + block(
        "protect", "Findings for: x\n> Call it.\nsource: a.md#Protecting"
    )
    late = "\n\n".join(
        [
            block("run_timeout", "half", "FAILED", "The model is gone."),
            block("memory_kept", "Findings for: y\n> Kept.\nsource: a.md#Memory"),
        ]
    )
    host = Host(offers="task", refused={"task": early, "wait_for_subagent": late})

    answer = await host.ask(THREE)

    assert host.named("wait") == [{"task_id": [GROUP], "mode": "all", "timeout": 60}]
    assert "> Call it." in answer
    assert "could not be done: The model is gone." in answer
    assert "> Kept." in answer


async def test_tasks_that_never_end_are_not_waited_for_for_ever() -> None:
    host = Host(
        offers="task",
        refused={"task": f"group_id: {GROUP}\nnothing yet", "wait_for_subagent": "Not finished"},
    )

    answer = await host.ask(THREE)

    assert len(host.named("wait")) == 3
    assert answer.count(f"Still running: {GROUP}") == 3
