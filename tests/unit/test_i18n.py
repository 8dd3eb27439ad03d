"""Texts for people: three languages, the same keys and places, and all that the code asks for."""

import ast
import inspect
import json
import re
from collections.abc import Iterator
from pathlib import Path
from string import Formatter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_subagents.i18n import LOCALES, Texts, locale_of
from astrbot_plugin_subagents.manager import AgentKind, RunState, errors

ROOT = Path(__file__).parents[2]
ASKING = {"say", "text", "_note"}
"""Functions that take the key of a text."""
KEY = re.compile(r"[a-z_]+(\.[a-z_]+)?")
WORDLESS = {"agent.line", "progress.trouble"}
"""They only join other texts."""
FORMED = {
    "state.*": {f"state.{state}" for state in RunState},
    "agent.*": {f"agent.{kind}" for kind in AgentKind},
    "usage.*": {"usage.memory", "usage.board"},
    "*.*": {f"{what}.{way}" for what in ("memory", "board") for way in ("on", "off")},
}
"""What the code forms keys from, beside those of errors."""


def texts_of(locale: str) -> dict[str, str]:
    texts: dict[str, str] = json.loads((ROOT / "i18n" / f"{locale}.json").read_text("utf-8"))
    return texts


def places_of(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name is not None}


def calls() -> Iterator[tuple[ast.Call, ast.expr]]:
    """Calls in the code that ask for a text, each with each expression for its key."""
    for file in [*(ROOT / "plugin").glob("*.py"), ROOT / "main.py"]:
        tree = ast.parse(file.read_text("utf-8"))
        keys = {
            each.targets[0].id: each.value
            for each in ast.walk(tree)
            if isinstance(each, ast.Assign) and isinstance(each.targets[0], ast.Name)
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and name_of(node.func) in ASKING:
                for argument in node.args:
                    value = argument
                    if isinstance(value, ast.Name):
                        value = keys.get(value.id, value)
                    either = [value.body, value.orelse] if isinstance(value, ast.IfExp) else [value]
                    yield from ((node, each) for each in either)


def name_of(function: ast.expr) -> str:
    return ast.unparse(function).rpartition(".")[2]


def plain_keys() -> Iterator[tuple[str, set[str]]]:
    """The keys that are written out, with the values that the code gives for each."""
    for call, key in calls():
        if isinstance(key, ast.Constant) and KEY.fullmatch(str(key.value)):
            given_with = {keyword.arg or "**" for keyword in call.keywords}
            always = {"name"} if name_of(call.func) == "_note" else set()
            yield str(key.value), given_with | always


def formed_keys() -> set[str]:
    """The shapes of keys that are put together, such as `state.*`."""
    return {
        "".join(str(part.value) if isinstance(part, ast.Constant) else "*" for part in key.values)
        for _, key in calls()
        if isinstance(key, ast.JoinedStr)
    }


def error_classes() -> list[type[errors.SubAgentError]]:
    return [
        each
        for each in vars(errors).values()
        if isinstance(each, type) and issubclass(each, errors.SubAgentError)
    ]


def test_all_languages_have_the_same_keys_in_the_same_order() -> None:
    assert sorted(each.stem for each in (ROOT / "i18n").glob("*.json")) == sorted(LOCALES)
    assert [list(texts_of(locale)) for locale in LOCALES[1:]] == [list(texts_of("en-US"))] * 2


@pytest.mark.parametrize("locale", LOCALES)
def test_all_languages_put_in_the_same_values(locale: str) -> None:
    english = {key: places_of(text) for key, text in texts_of("en-US").items()}

    assert {key: places_of(text) for key, text in texts_of(locale).items()} == english


@pytest.mark.parametrize("locale", LOCALES)
def test_no_text_is_empty_long_or_marked_up(locale: str) -> None:
    texts = texts_of(locale)

    assert [key for key, text in texts.items() if not text.strip()] == []
    assert [key for key, text in texts.items() if re.search(r"[*`#]|</", text)] == []
    long = [key for key, text in texts.items() if len(text.splitlines()) > 3 or len(text) > 250]
    assert long == ["help"]


@pytest.mark.parametrize("locale", LOCALES)
def test_the_help_has_a_line_for_each_verb(locale: str) -> None:
    tree = ast.parse((ROOT / "plugin" / "commands.py").read_text("utf-8"))
    tables = [node for node in ast.walk(tree) if isinstance(node, ast.Dict)]
    verbs = [ast.literal_eval(key) for key in max(tables, key=lambda d: len(d.keys)).keys if key]

    lines = texts_of(locale)["help"].splitlines()

    assert [line.split()[:2] for line in lines] == [
        ["/subagents", verb] for verb in verbs if verb != "help"
    ]


@pytest.mark.parametrize("locale", ["zh-CN", "ru-RU"])
def test_nothing_was_left_in_english(locale: str) -> None:
    texts, english = texts_of(locale), texts_of("en-US")
    in_no_script = {key for key, text in texts.items() if locale_of(text) is None}

    assert {locale_of(text) for text in texts.values()} == {locale, None}
    assert in_no_script <= WORDLESS
    assert {key for key, text in texts.items() if text == english[key]} <= WORDLESS


def test_the_code_asks_for_all_texts_and_for_no_other() -> None:
    asked = {key for key, _ in plain_keys()}
    formed = set().union(*FORMED.values()) | {f"error.{each.code}" for each in error_classes()}

    assert formed_keys() == {*FORMED, "error.*"}
    assert (asked | formed) - set(texts_of("en-US")) == set()
    assert set(texts_of("en-US")) - (asked | formed) == set()


def test_the_code_gives_a_value_for_every_place() -> None:
    english = texts_of("en-US")
    lacking = [
        (key, places_of(english[key]) - given_with)
        for key, given_with in plain_keys()
        if not places_of(english[key]) <= given_with
    ]

    assert lacking == []


@pytest.mark.parametrize("kind", error_classes(), ids=lambda kind: kind.__name__)
def test_an_error_is_told_with_its_own_fields(kind: type[errors.SubAgentError]) -> None:
    own = set(inspect.signature(kind).parameters) if "__init__" in vars(kind) else set()

    assert places_of(texts_of("en-US")[f"error.{kind.code}"]) <= own


def test_every_error_has_a_code_of_its_own() -> None:
    codes = [each.code for each in error_classes()]

    assert len(set(codes)) == len(codes)


def test_a_question_says_which_task_asks_and_how_to_answer() -> None:
    for locale in LOCALES:
        text = Texts().text(
            "question.asked", locale=locale, name="scout", task_id="t7", question="North?"
        )

        assert "North?" in text
        assert text.count("t7") == 2
        assert "/subagents answer t7 <" in text


@pytest.mark.parametrize("key", ["result.done", "result.not_done"])
def test_a_result_ends_with_the_id_of_its_task(key: str) -> None:
    for locale in LOCALES:
        values = {"name": "scout", "state": "failed", "reason": "No.", "text": "7 m"}
        text = Texts().text(key, locale=locale, task_id="t7", **values)

        assert re.search(r"\n7 m\n\[\w+ t7\]$", text)


@pytest.mark.parametrize(
    "value", ["{0}", "{name.__class__}", "{{known}}", "{", "**bold** <b>x</b>", "%s\n$x", "\0"]
)
def test_a_value_is_put_in_as_it_is(value: str) -> None:
    text = Texts().text("error.agent_not_found", locale="en-US", name=value, known="{name}")

    assert text == f"There is no sub-agent named {value}. There are: {{name}}."


@given(st.text(max_size=50))
def test_whatever_is_put_in_stands_in_the_text(value: str) -> None:
    assert Texts().text("run.asks", locale="ru-RU", question=value) == f"Ждёт ответа: {value}"


def test_a_language_that_there_is_not_is_english() -> None:
    assert Texts().text("agent.idle", locale="fr-FR") == "idle"


def test_a_key_that_there_is_not_and_a_value_that_is_missing_are_errors() -> None:
    with pytest.raises(KeyError):
        Texts().text("agent.nothing", locale="en-US")
    with pytest.raises(KeyError):
        Texts().text("run.asks", locale="en-US")


@pytest.mark.parametrize(
    ("text", "locale"),
    [
        ("", None),
        ("/subagents stop all", None),
        ("Bonjour, ça va ?", None),
        ("12345 :-) 🙂", None),
        ("\uff0c\u3002\uff01", None),
        ("停止", "zh-CN"),
        ("please 停 it now", "zh-CN"),
        ("/subagents stop 研究员", "zh-CN"),
        ("㐀", "zh-CN"),
        ("Стоп", "ru-RU"),
        ("stop все tasks", "ru-RU"),
        ("Переведи слово 你好 на русский", "ru-RU"),
        ("把 да 翻译成中文", "zh-CN"),
        ("да 停止", "zh-CN"),
    ],
)
def test_a_language_is_told_by_its_script(text: str, locale: str | None) -> None:
    assert locale_of(text) == locale
