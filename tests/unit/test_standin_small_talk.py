# ruff: noqa: RUF001 - texts in Chinese and Russian are meant
"""What the stand-in takes for small talk, and what it does not."""

import pytest

from standin.small_talk import Kind, is_small_talk, small_talk


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("hello", "hello"),
        ("Hi there!", "hello"),
        ("Hi, who are you?", "hello"),
        ("Hi there, how are you today?", "hello"),
        ("hi how are you", "hello"),
        ("How are you?", "hello"),
        ("good morning, what can you do?", "hello"),
        ("What’s up? 👋", "hello"),
        ("Thanks, and good day", ""),
        ("Thanks. Who are you?", "hello"),
        ("Thanks!", "thanks"),
        ("Thank you very much for your help", "thanks"),
        ("ok", "thanks"),
        ("Thanks. Bye", "thanks"),
        ("Good night!", "bye"),
        ("你好！", "hello"),
        ("你好，你是谁？", "hello"),
        ("你好你能做什么", "hello"),
        ("谢谢你！", "thanks"),
        ("再见", "bye"),
        ("Привет", "hello"),
        ("Добрый день, как дела?", "hello"),
        ("Что ты умеешь делать?", "hello"),
        ("Спасибо большое!", "thanks"),
        ("Пока", "bye"),
    ],
)
def test_small_talk_is_known_by_its_kind(text: str, kind: Kind) -> None:
    assert small_talk(text) == kind


@pytest.mark.parametrize(
    "text",
    [
        "hello world of limits",
        "help me protect",
        "memory",
        "history",
        "test_all",
        "пока задача работает",
        "你好世界的限制",
        "",
        "?!",
        "hi " * 3000 + "memory",
    ],
)
def test_a_question_is_no_small_talk(text: str) -> None:
    assert not is_small_talk(text)
