"""The page's words: the same in all languages, each used, none missing."""

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from astrbot_plugin_subagents.manager.models import AgentKind, RunKind, RunState

PAGE = Path(__file__).resolve().parents[2] / "pages" / "subagents"
LANGUAGES = ("en-US", "zh-CN", "ru-RU")
FORMS = {
    "en-US": {"one", "other"},
    "zh-CN": {"other"},
    "ru-RU": {"one", "few", "many", "other"},
}
"""The plural forms that whole numbers have in a language."""

PART = re.compile(r"\A(?:/\*\*.*?\*/\s*)?export default (\{.*\});\s*\Z", re.DOTALL)
CODE = "\n".join(
    file.read_text("utf-8")
    for file in sorted(PAGE.rglob("*.js"))
    if not {"texts", "vendor"} & set(file.parts)
)

type Text = str | dict[str, str]


def parts_of(locale: str) -> dict[str, dict[str, Text]]:
    """The files of one language: name -> key -> text. Each is an object as JSON has it."""
    found = {}
    for file in sorted((PAGE / "texts" / locale).glob("*.js")):
        part = PART.match(file.read_text("utf-8"))
        assert part, f"{file} is no flat object"
        # JSON but for a comma behind the last text.
        found[file.stem] = json.loads(re.sub(r",(\s*\})", r"\1", part[1]))
    return found


def texts_of(locale: str) -> dict[str, Text]:
    """All words of one language."""
    return {key: text for part in parts_of(locale).values() for key, text in part.items()}


def wordings(text: Text) -> list[str]:
    return [text] if isinstance(text, str) else list(text.values())


def places_of(text: Text) -> set[str]:
    return {place for wording in wordings(text) for place in re.findall(r"\{(\w+)\}", wording)}


@pytest.mark.parametrize("locale", LANGUAGES)
def test_a_language_has_the_parts_of_english_and_names_them_all(locale: str) -> None:
    parts = parts_of(locale)
    index = (PAGE / "texts" / f"{locale}.js").read_text("utf-8")
    times = Counter(key for part in parts.values() for key in part)

    assert {name: list(part) for name, part in parts.items()} == {
        name: list(part) for name, part in parts_of("en-US").items()
    }
    assert [name for name in parts if f'from "./{locale}/{name}.js"' not in index] == []
    assert [name for name in parts if f"...{name}" not in index] == []
    assert [key for key, number in times.items() if number > 1] == []


@pytest.mark.parametrize("locale", LANGUAGES)
def test_a_text_has_the_places_of_the_english_one_and_says_something(locale: str) -> None:
    english, texts = texts_of("en-US"), texts_of(locale)

    assert {key: places_of(text) for key, text in texts.items()} == {
        key: places_of(text) for key, text in english.items()
    }
    assert [key for key, text in texts.items() if not all(map(str.strip, wordings(text)))] == []


@pytest.mark.parametrize("locale", LANGUAGES)
def test_a_text_that_counts_has_the_plural_forms_of_its_language(locale: str) -> None:
    counting = {key: set(text) for key, text in texts_of(locale).items() if isinstance(text, dict)}
    english = {key for key, text in texts_of("en-US").items() if isinstance(text, dict)}

    assert counting.keys() == english
    assert {key: forms for key, forms in counting.items() if forms != FORMS[locale]} == {}


def test_whatever_the_page_asks_for_is_there() -> None:
    texts = texts_of("en-US")
    asked = set(re.findall(r'\bt\(\s*"([^"]+)"', CODE))
    families = set(re.findall(r"\bt\(\s*`([\w.]+\.)\$\{", CODE))

    assert len(asked) > 30
    assert asked - texts.keys() == set()
    assert {each for each in families if not any(key.startswith(each) for key in texts)} == set()


def test_no_text_is_left_over() -> None:
    literals = set(re.findall(r'["\'`]([\w.]+)["\'`]', CODE))
    families = tuple(set(re.findall(r"`([\w.]+\.)\$\{", CODE)))

    assert [
        key for key in texts_of("en-US") if key not in literals and not key.startswith(families)
    ] == []


@pytest.mark.parametrize("locale", LANGUAGES)
def test_every_state_and_kind_has_a_name(locale: str) -> None:
    texts = texts_of(locale)
    wanted = [f"state.{state}" for state in (*RunState, "idle")]
    wanted += [f"run.kind.{kind}" for kind in RunKind]
    wanted += [f"agent.kind.{kind}" for kind in AgentKind]

    assert [key for key in wanted if key not in texts] == []
