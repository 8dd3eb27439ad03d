"""What people read of agents, tasks and errors: lines that stay lines, and never too much."""

import inspect
from dataclasses import replace
from typing import Any

import pytest

from astrbot_plugin_subagents.i18n import LOCALES, Texts
from astrbot_plugin_subagents.manager import (
    AgentKind,
    AgentStatus,
    Run,
    RunId,
    RunState,
    SessionId,
    SubAgentConfig,
    errors,
)
from astrbot_plugin_subagents.manager.models import (
    TERMINAL,
    AgentName,
    Artifact,
    ConversationId,
    Failure,
    OwnerId,
    ToolUse,
    Usage,
)
from astrbot_plugin_subagents.manager.task_shape import TaskShape
from astrbot_plugin_subagents.manager.testing import EPOCH
from astrbot_plugin_subagents.plugin.command_texts import (
    Say,
    agent_line,
    error_text,
    run_line,
    run_report,
    transcript_text,
    who,
)

ERRORS = [
    each
    for each in vars(errors).values()
    if isinstance(each, type) and issubclass(each, errors.SubAgentError)
]
MOST = 8_000
"""Characters of one answer, whatever a run holds."""


def saying(locale: str = "en-US") -> Say:
    texts = Texts()
    return lambda key, /, **values: texts.text(key, locale=locale, **values)


def a_run(**changes: Any) -> Run:
    run = Run(
        run_id=RunId("t7"),
        session=SessionId("chat"),
        agent=AgentName("digger"),
        conversation=ConversationId("c"),
        state=RunState.RUNNING,
        input="Dig.",
        owner=OwnerId("alice"),
        created_at=EPOCH,
        steps=3,
    )
    return replace(run, **changes)


def a_status(*, runs: int = 0, **changes: Any) -> AgentStatus:
    config = SubAgentConfig(
        name=AgentName("digger"),
        system_prompt="Dig.",
        owner=OwnerId("alice"),
        conversation=ConversationId("c"),
        created_at=EPOCH,
    )
    running = tuple(a_run(run_id=RunId(f"t{number}")) for number in range(runs))
    return AgentStatus(config=replace(config, **changes), running=running)


def an_error(kind: type[errors.SubAgentError], value: str) -> errors.SubAgentError:
    """An error of this class, with a value in each field."""
    if "__init__" not in vars(kind):
        return kind("it broke")
    parameters = [each for name, each in inspect.signature(kind).parameters.items()]
    values = {
        each.name: 7 if each.annotation is int else [value] if "Iter" in str(each) else value
        for each in parameters
    }
    return kind(**values)


# ---- agents and tasks in a line


@pytest.mark.parametrize(
    ("status", "line"),
    [
        (a_status(), "digger (made in this chat): idle"),
        (a_status(runs=2), "digger (made in this chat): tasks: 2"),
        (a_status(protected=True), "digger (made in this chat, protected): idle"),
        (a_status(kind=AgentKind.STATIC), "digger (from the bot's settings, protected): idle"),
    ],
)
def test_an_agent_is_a_line(status: AgentStatus, line: str) -> None:
    assert agent_line(status, saying()) == line


def test_a_queued_task_counts_as_work() -> None:
    status = replace(a_status(), queued=(a_run(state=RunState.QUEUED),))

    assert agent_line(status, saying()) == "digger (made in this chat): tasks: 1"


def test_a_run_is_a_line_without_its_words() -> None:
    run = a_run(input="secret", last_text="secret", question="secret")

    assert run_line(run, saying()) == "[t7] digger: at work, steps: 3"
    assert run_line(run, saying("zh-CN")).startswith("[t7] digger")
    assert "进行中" in run_line(run, saying("zh-CN"))
    assert run_line(run, saying("ru-RU")) == "[t7] digger: выполняется, шагов: 3"


@pytest.mark.parametrize("locale", LOCALES)
def test_every_state_has_words_of_its_own(locale: str) -> None:
    lines = {run_line(a_run(state=state), saying(locale)) for state in RunState}

    assert len(lines) == len(RunState)


def test_a_run_without_an_agent_is_called_by_its_label() -> None:
    label = "find\nthe   cellar " + "x" * 100
    run = a_run(agent=None, task=TaskShape(label=label, position=0))

    assert who(run) == f"find the cellar {'x' * 44}..."
    assert who(replace(run, task=TaskShape(label=" \n", position=0))) == "t7"
    assert who(replace(run, task=None)) == "t7"


# ---- one run


def test_a_report_says_what_was_asked_and_what_came_of_it() -> None:
    run = a_run(
        state=RunState.COMPLETED,
        last_text="It is 7 m deep.",
        usage=Usage(input=10, cached=20, output=3),
        tools_used=(ToolUse(name="dig", calls=2), ToolUse(name="look", calls=1)),
        artifacts=(Artifact(kind="file", path="/files/plan.md"), Artifact(kind="file", path="")),
    )

    assert run_report(run, saying()).splitlines() == [
        "[t7] digger: done, steps: 3",
        "Task: Dig.",
        "Tokens: 33; tools: dig x2, look x1",
        "It is 7 m deep.",
        "File: /files/plan.md",
    ]


def test_a_report_of_a_run_that_asks_shows_its_question_and_one_that_went_on_does_not() -> None:
    asking = a_run(state=RunState.WAITING, question="North or south?")

    assert "It asks: North or south?" in run_report(asking, saying()).splitlines()
    gone_on = replace(asking, state=RunState.RUNNING)
    assert "North or south?" not in run_report(gone_on, saying())


def test_a_report_says_why_it_failed_and_what_it_had() -> None:
    run = a_run(
        state=RunState.FAILED, failure=Failure(code="x", message="No shovel."), last_text="1 m"
    )

    assert run_report(run, saying()).splitlines()[-2:] == ["Reason: No shovel.", "1 m"]


@pytest.mark.parametrize("state", [*sorted(TERMINAL), RunState.WAITING])
def test_whatever_a_run_holds_its_report_is_no_flood(state: RunState) -> None:
    much = "word " * 100_000
    run = a_run(
        agent=None,
        task=TaskShape(label=much, position=0),
        state=state,
        input=much,
        last_text=much,
        question=much,
        failure=Failure(code="x", message=much),
        tools_used=tuple(ToolUse(name=f"{'t' * 60}{each}", calls=1) for each in range(100)),
        artifacts=tuple(Artifact(kind="file", path=f"/{'p' * 90}/{each}") for each in range(100)),
    )

    text = run_report(run, saying())

    assert len(text) < MOST
    assert "[t7]" in text
    assert text.count("File: ") == 10


# ---- transcripts


def test_a_transcript_shows_who_said_and_called_what() -> None:
    bodies: list[dict[str, Any]] = [
        {"role": "user", "content": [{"type": "text", "text": "Dig"}, {"type": "image_url"}]},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"function": {"name": "dig", "arguments": '{"depth": 7}'}}],
        },
        {"role": "tool", "content": "dug"},
        {"role": "assistant", "content": "Done."},
    ]

    assert transcript_text(a_run(), bodies, saying()).splitlines()[1:] == [
        "[user] Dig ",
        '[assistant] -> dig {"depth": 7}',
        "[tool] dug",
        "[assistant] Done.",
    ]


@pytest.mark.parametrize("bodies", [[], [{"role": "assistant"}], [{}]])
def test_a_transcript_without_a_word_says_so(bodies: list[dict[str, Any]]) -> None:
    text = transcript_text(a_run(), bodies, saying("ru-RU"))

    assert text.splitlines()[1:] == ["Ни сообщений, ни вызовов инструментов нет."]


def test_of_a_long_transcript_the_newest_end_is_shown() -> None:
    bodies = [{"role": "assistant", "content": f"{'x' * 1_000} {each}"} for each in range(100)]
    bodies.append({"role": "assistant", "content": "the end"})

    text = transcript_text(a_run(), bodies, saying())

    assert len(text) < MOST
    assert text.startswith("[t7] digger")
    assert text.endswith("\n[assistant] the end")
    assert "x" * 401 not in text


# ---- errors


@pytest.mark.parametrize("locale", LOCALES)
@pytest.mark.parametrize("kind", ERRORS, ids=lambda kind: kind.__name__)
def test_every_error_is_told_whatever_its_fields_hold(
    kind: type[errors.SubAgentError], locale: str
) -> None:
    text = error_text(an_error(kind, "{odd} **x**"), saying(locale))

    assert text
    assert len(text) < MOST
    assert ("{" in text) == ("{odd} **x**" in text)


def test_an_error_with_very_long_fields_is_short() -> None:
    error = errors.AgentNotFound("x" * 10_000, [f"{'y' * 100}{each}" for each in range(1_000)])

    text = error_text(error, saying())

    assert len(text) < 1_500


def test_an_empty_list_of_an_error_is_a_dash() -> None:
    text = error_text(errors.NoOpenQuestion("t7", []), saying())

    assert text == "Task t7 waits for no answer. Open questions: -."


def test_an_error_with_a_note_is_told_all_the_same() -> None:
    error = errors.RunNotFound("t9", ["t7"])
    error.add_note("seen at night")

    assert "t9" in error_text(error, saying())
