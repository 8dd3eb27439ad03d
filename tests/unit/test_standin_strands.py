# ruff: noqa: RUF001 - texts in Chinese and Russian are meant
"""How the stand-in parts a request into strands."""

import pytest

from standin.strands import MAX_STRANDS, split


@pytest.mark.parametrize(
    ("text", "strands"),
    [
        (
            "How do I protect a sub-agent, and what happens when a run times out?",
            ("How do I protect a sub-agent", "what happens when a run times out?"),
        ),
        (
            "Hello! How does memory work; which limits are there?",
            ("How does memory work", "which limits are there?"),
        ),
        (
            "1. How to install 2) How to configure limits\n- the board",
            ("How to install", "How to configure limits", "the board"),
        ),
        (
            "Compare foreground and background runs, then tell me where the database is.",
            ("Compare foreground and background runs", "tell me where the database is."),
        ),
        (
            "List the settings for memory size and list the commands of a group chat",
            ("List the settings for memory size", "list the commands of a group chat"),
        ),
        ("What are skills and tools?", ("What are skills and tools?",)),
        ("If a run times out, what is kept?", ("If a run times out, what is kept?",)),
        ("Where is the log (e.g. of errors) kept?", ("Where is the log (e.g. of errors) kept?",)),
        ("Show main.py. Also show it. Show main.py.", ("Show main.py.",)),
        (
            "如何保护子代理，以及运行超时会怎样？重启以后呢？",
            ("如何保护子代理", "运行超时会怎样？", "重启以后呢？"),
        ),
        (
            "Как защитить субагента, и что происходит при таймауте? А где настройки?",
            ("Как защитить субагента", "что происходит при таймауте?", "где настройки?"),
        ),
        (
            "怎么保护一个子代理，运行超时会怎样？",
            ("怎么保护一个子代理", "运行超时会怎样？"),
        ),
        (
            "怎么保护一个子代理?运行超时会怎样?",
            ("怎么保护一个子代理?", "运行超时会怎样?"),
        ),
        ("怎么设置超时,怎么保护子代理", ("怎么设置超时", "怎么保护子代理")),
        ("请问，如何保护子代理？", ("请问，如何保护子代理？",)),
        ("你好，如何保护子代理？", ("如何保护子代理？",)),
        ("如果运行超时，会怎样？", ("如果运行超时，会怎样？",)),
        ("保护 memory，列出子代理", ("保护 memory", "列出子代理")),
        (
            "如何保护子代理，如果运行超时，会怎样？",
            ("如何保护子代理", "如果运行超时，会怎样？"),
        ),
        (
            "Как защитить субагента, и что будет, когда задача не успеет вовремя?",
            ("Как защитить субагента", "что будет, когда задача не успеет вовремя?"),
        ),
        (
            "Я хочу знать, что происходит при таймауте",
            ("Я хочу знать, что происходит при таймауте",),
        ),
        (
            "Куда деваются результаты с тем, что не успело?",
            ("Куда деваются результаты с тем, что не успело?",),
        ),
        (
            "What happens to results, when the user stops the turn?",
            ("What happens to results, when the user stops the turn?",),
        ),
        ("What is kept, if a run fails?", ("What is kept, if a run fails?",)),
        (
            "Where is memory kept, when does a run time out?",
            ("Where is memory kept", "when does a run time out?"),
        ),
        (
            "How do I protect it, and if a run times out, what is kept?",
            ("How do I protect it", "if a run times out, what is kept?"),
        ),
        (
            "Which limits are there?What happens to memory?",
            ("Which limits are there?", "What happens to memory?"),
        ),
        ("Read example.org/?page=2 about tools", ("Read example.org/?page=2 about tools",)),
        ("", ()),
    ],
)
def test_a_request_is_split_where_a_new_question_begins(
    text: str, strands: tuple[str, ...]
) -> None:
    assert split(text) == strands


def test_what_comes_after_the_last_strand_is_joined_to_it() -> None:
    questions = [f"What is thing{number}?" for number in range(12)]

    strands = split(" ".join(questions))

    assert strands == (*questions[: MAX_STRANDS - 1], " ".join(questions[MAX_STRANDS - 1 :]))
