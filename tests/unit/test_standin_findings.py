# ruff: noqa: RUF001 - texts in Chinese and Russian are meant
"""Quotes: chosen from a search's reply, written down, found again; and the search itself."""

from dataclasses import replace
from pathlib import Path

import pytest

from docs_plugin.ranking import Index, sections_of
from standin.findings import Finding, Quote, parse, render
from standin.quoting import MAX_CHARACTERS, select
from standin.researcher import SECTIONS
from standin.words import keywords

CLONE = Path(__file__).resolve().parents[2]

FOUND = Finding(
    task="time limits",
    quotes=(
        Quote(text="It keeps its last text.", source="docs/a.md#Time: what is kept"),
        Quote(text="- `idle_timeout`: > 0", source="README.md"),
    ),
)
NOT_FOUND = Finding(task="zebras", reason="no section holds the words zebras")


@pytest.mark.parametrize("finding", [FOUND, NOT_FOUND, Finding(task="nothing at all")])
@pytest.mark.parametrize("task", ["time limits", "超时", "таймаут"])
def test_a_finding_that_was_written_down_is_found_again(finding: Finding, task: str) -> None:
    asked = replace(finding, task=task)

    assert parse(render(asked)) == (asked,)


def test_a_finding_is_written_in_the_language_of_its_task() -> None:
    assert render(Finding(task="зебры", reason="нет")) == (
        "Ничего не найдено по заданию: зебры\nпричина: нет"
    )
    assert render(Finding(task="斑马", reason="无")) == "没有查到: 斑马\n原因: 无"


def test_findings_are_found_whatever_stands_around_them() -> None:
    indented = "\n".join(f"  | {line}" for line in render(FOUND).splitlines())
    text = f"task_id: a\nsource: not mine\n{indented}\nend>>\n\ntask_id: b\n{render(NOT_FOUND)}"

    assert parse(text) == (FOUND, NOT_FOUND)


def test_a_quote_that_lost_its_source_is_left_out() -> None:
    text = "Findings for: x\n> one\n[... left out ...]\n> two\nsource: b.md"

    assert parse(text) == (Finding(task="x", quotes=(Quote(text="two", source="b.md"),)),)


def test_a_text_without_findings_has_none() -> None:
    assert parse("> a quote\nsource: a.md") == ()


def test_the_passage_that_meets_the_task_is_chosen_word_for_word() -> None:
    reply = (
        "source: docs/a.md#Other\nAgents are here. Agents are there.\n\n"
        "source: docs/a.md#Protecting agents\nCall `protect_subagent`\nwith the name of the agent."
        "\n\n| key | meaning |\n|---|---|\n| `limit` | how many agents |"
    )

    quotes = select(reply, "How do I protect an agent?")

    assert quotes[0] == Quote(
        text="Call `protect_subagent` with the name of the agent.",
        source="docs/a.md#Protecting agents",
    )
    assert all(each.source != "docs/a.md#Other" for each in quotes)


def test_a_long_passage_is_parted_into_sentences() -> None:
    filler = "Nothing of interest stands in this sentence. " * 12
    reply = f"source: a.md#A\n{filler}The lock is released at the end. {filler}"

    assert select(reply, "lock") == (
        Quote(text="The lock is released at the end.", source="a.md#A"),
    )


def test_a_sentence_without_an_end_is_cut() -> None:
    quotes = select("source: a.md#A\n" + "lock " * 200, "lock")

    assert len(quotes[0].text) <= MAX_CHARACTERS + 4
    assert quotes[0].text.endswith("lock ...")


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "No section holds any of the words.",
        "source: a.md#A\nx",
        "source: a.md#A\n- [lock](lock.md): where the lock is described",
        "source: a.md#Lock\n`lock_name`, `path` or `mode`",
        "source: a.md#0001: Lock\n**Status:** accepted",
    ],
)
def test_nothing_is_quoted_where_nothing_fits(reply: str) -> None:
    assert select(reply, "lock") == ()


@pytest.mark.parametrize(
    ("task", "text"),
    [
        ("asdf qwer /root zxcv", "The root of the repository."),
        ("/root", "The root of the repository."),
        ("lock of zebras and giraffes", "The lock."),
    ],
)
def test_a_chance_hit_on_one_word_is_not_quoted(task: str, text: str) -> None:
    assert select(f"source: a.md#A\n{text}", task) == ()


def test_a_command_is_found_where_it_is_named() -> None:
    reply = "source: a.md#A\n`/stop` ends the turn.\n\nsource: b.md#B\nThey stop."

    assert select(reply, "What does /stop do?") == (
        Quote(text="`/stop` ends the turn.", source="a.md#A"),
    )


def test_what_stands_under_a_heading_that_holds_all_that_was_asked_comes_first() -> None:
    reply = "source: a.md#A\nA black list of sub-agents.\n\nsource: b.md#list_subagents\nNames."

    quotes = select(reply, "How do I list sub-agents?")

    assert quotes[0] == Quote(text="Names.", source="b.md#list_subagents")


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("what happens when a run times out?", "ends as `timed_out`"),
        ("运行超时会怎样？", "ends as `timed_out`"),
        ("что будет, когда задача не успеет вовремя?", "ends as `timed_out`"),
        ("How do I protect a sub-agent", "protected sub-agent stays"),
        ("Which states does a task have?", "`queued`, then `running`"),
        ("How do I list all sub-agents", "states with task ids"),
        ("How is a group of tasks handed over?", "handed over together"),
    ],
)
def test_the_first_quote_from_this_projects_pages_answers_the_question(
    question: str, answer: str
) -> None:
    paths = [CLONE / "README.md", *sorted((CLONE / "docs").rglob("*.md"))]
    parts = [each for path in paths for each in sections_of(path.name, path.read_text("utf-8"))]
    best = Index(parts).best(" ".join(keywords(question)), SECTIONS)

    quotes = select("\n\n".join(f"source: {each.source}\n{each.text}" for each in best), question)

    assert answer in quotes[0].text


def test_a_file_is_parted_at_its_headings_but_not_inside_code() -> None:
    markdown = (
        "Top.\n# A `b` [c](d.md)\n\none\n```sh\n# no heading\n```\n## Empty\n### Last ###\ntwo"
    )

    found = [(each.source, each.text) for each in sections_of("x.md", markdown)]

    assert found == [
        ("x.md", "Top."),
        ("x.md#A b c", "one\n```sh\n# no heading\n```"),
        ("x.md#Last", "two"),
    ]


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("protected sub-agents", "Protecting"),
        ("a run that timed out", "Limits"),
        ("time-out", "Limits"),
        ("保护", "中文"),
        ("настройка", "По-русски"),
    ],
)
def test_the_section_that_fits_best_comes_first(query: str, first: str) -> None:
    markdown = (
        "# Protecting\nKeep a subagent.\n# Limits\nA timeout ends a run.\n# 中文\n如何保护子代理\n"
        "# По-русски\nВсе настройки.\n# Runs\nA run is a run of a subagent."
    )
    index = Index(sections_of("x.md", markdown))

    assert index.best(query, 2)[0].source == f"x.md#{first}"


def test_a_search_without_a_hit_finds_nothing() -> None:
    assert Index(sections_of("x.md", "# A\nb")).best("zebra", 3) == []
    assert Index([]).best("zebra", 3) == []
