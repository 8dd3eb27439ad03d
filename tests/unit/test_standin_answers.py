# ruff: noqa: RUF001 - texts in Chinese and Russian are meant
"""What the stand-in says to small talk and to questions that the documentation does not answer."""

import pytest

from support.standin_host import Host


@pytest.mark.parametrize(
    ("said", "answered"),
    [
        ("Thanks!", "You are welcome"),
        ("ok, bye", "You are welcome"),
        ("Bye", "Goodbye"),
        ("谢谢你！", "不客气"),
        ("Пока!", "До свидания"),
        ("Hi there, how are you today?", "Ask me something about this plugin"),
        ("你好，你是谁？", "请问我关于这个插件的问题"),
    ],
)
async def test_small_talk_is_answered_in_kind(said: str, answered: str) -> None:
    host = Host()

    answer = await host.ask(said)

    assert answer.startswith(answered) or answered in answer.splitlines()[0]
    assert host.calls == []


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("Где живут зебры?", "в документации нет раздела об этом: живут, зебры"),
        ("斑马住在哪里？", "文档中没有关于这些词的章节：斑马住在哪里"),
        ("Where do zebras live?", "no section of the documentation is about: zebras, live"),
    ],
)
async def test_what_was_not_found_is_told_in_the_language_of_the_question(
    question: str, told: str
) -> None:
    answer = await Host().ask(question)

    assert f"({told})" in answer.replace("（", "(")
    assert "no section" not in answer.replace(told, "")


async def test_a_sub_agent_is_not_named_after_a_tool() -> None:
    host = Host()

    await host.ask("1. search_project_docs 2. wait_for_subagent 3. protect sub-agents")

    names = [each["name"] for each in host.named("create")]
    assert names == ["search_project_docs_1", "wait", "protect"]
