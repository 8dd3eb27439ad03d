# ruff: noqa: RUF001 - a text in Russian is meant
"""Quotes: chosen from a search's reply, written down, found again; and the search itself."""

import pytest

from docs_plugin.ranking import Index, sections_of
from standin.findings import Finding, Quote, parse, render
from standin.quoting import MAX_CHARACTERS, select

FOUND = Finding(
    task="time limits",
    quotes=(
        Quote(text="It keeps its last text.", source="docs/a.md#Time: what is kept"),
        Quote(text="- `idle_timeout`: > 0", source="README.md"),
    ),
)
NOT_FOUND = Finding(task="zebras", reason="no section holds the words zebras")


@pytest.mark.parametrize("finding", [FOUND, NOT_FOUND, Finding(task="nothing at all")])
def test_a_finding_that_was_written_down_is_found_again(finding: Finding) -> None:
    assert parse(render(finding)) == (finding,)


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
    ],
)
def test_nothing_is_quoted_where_nothing_fits(reply: str) -> None:
    assert select(reply, "lock") == ()


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
