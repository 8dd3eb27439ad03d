"""In which language a chat is answered."""

import pytest

from astrbot_plugin_subagents.manager import SessionId, Settings
from astrbot_plugin_subagents.plugin.languages import Languages

CHAT, OTHER = SessionId("chat"), SessionId("other")


def languages(settings: Settings | None = None) -> Languages:
    return Languages(lambda: settings or Settings())


def test_a_chat_that_was_not_heard_is_answered_in_english() -> None:
    it = languages()

    assert it.of(CHAT) == "en-US"
    assert it.text("agent.idle", CHAT) == "idle"


@pytest.mark.parametrize(
    ("text", "locale", "idle"),
    [("你好", "zh-CN", "空闲"), ("привет", "ru-RU", "свободен"), ("how are you?", "en-US", "idle")],
)
def test_a_chat_is_answered_in_the_language_that_was_written_last(
    text: str, locale: str, idle: str
) -> None:
    it = languages()
    it.heard(CHAT, "здравствуйте")
    it.heard(CHAT, "您好")

    it.heard(CHAT, text)

    assert it.of(CHAT) == locale
    assert it.text("agent.idle", CHAT) == idle
    assert it.of(OTHER) == "en-US"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "ok",
        "/stop",
        "hello there",
        "subagents show digger",
        "subagents steer t7 look into the cellar",
        "/subagents answer t7 yes please",
        "12 34",
    ],
)
def test_a_few_latin_words_and_a_command_of_ours_change_nothing(text: str) -> None:
    it = languages()
    it.heard(CHAT, "привет")

    it.heard(CHAT, text)

    assert it.of(CHAT) == "ru-RU"


def test_words_in_a_command_count_when_their_script_tells() -> None:
    it = languages()

    it.heard(CHAT, "subagents steer t7 посмотри в подвале")

    assert it.of(CHAT) == "ru-RU"


def test_a_language_that_is_set_counts_whatever_is_written() -> None:
    it = languages(Settings(language="zh-CN"))
    it.heard(CHAT, "привет")

    assert it.of(CHAT) == "zh-CN"


def test_the_setting_counts_at_once() -> None:
    now = Settings(language="ru-RU")
    it = Languages(lambda: now)
    it.heard(CHAT, "你好")
    before = it.of(CHAT)

    now = Settings()

    assert (before, it.of(CHAT)) == ("ru-RU", "zh-CN")


def test_of_very_many_chats_the_longest_unheard_are_forgotten() -> None:
    it = languages()
    for number in range(10_000):
        it.heard(SessionId(f"chat {number}"), "привет")
    it.heard(SessionId("chat 0"), "你好")

    it.heard(CHAT, "привет")

    assert it.of(SessionId("chat 0")) == "zh-CN"
    assert it.of(SessionId("chat 1")) == "en-US"
    assert it.of(SessionId("chat 2")) == "ru-RU"
    assert it.of(CHAT) == "ru-RU"
