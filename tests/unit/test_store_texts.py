"""Texts and JSON on their way into a database."""

import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from astrbot_plugin_subagents.manager.models import Origin, RunKind
from astrbot_plugin_subagents.manager.store.texts import clean, cleaned, dump_json, load_json

any_text = st.text(st.characters(codec=None, categories=None))

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False),
    lambda items: st.lists(items) | st.dictionaries(any_text, items),
    max_leaves=12,
)


@settings(max_examples=50, deadline=None)
@given(any_text)
def test_a_clean_text_can_be_stored_and_differs_only_where_it_must(text: str) -> None:
    stored = clean(text)

    stored.encode("utf-8")
    assert "\x00" not in stored
    assert len(stored) == len(text)
    assert all(new in (old, "\ufffd") for old, new in zip(text, stored, strict=True))
    assert clean(stored) == stored


def test_a_text_without_faults_is_the_same_object() -> None:
    for text in ("plain", "слово 字 😀", ""):
        assert clean(text) is text


@settings(max_examples=50, deadline=None)
@given(json_values | any_text)
def test_json_comes_back_with_its_texts_cleaned(value: object) -> None:
    text = dump_json(value)

    text.encode("utf-8")
    assert load_json(text) == load_json(dump_json(load_json(text)))
    if "\ufffd" not in text:
        assert load_json(text) == value


def test_json_keeps_the_order_of_keys_and_letters_as_they_are() -> None:
    assert dump_json({"z": "字", "a": [1.0, None, True]}) == '{"z":"字","a":[1.0,null,true]}'


def test_an_escape_that_only_looks_like_nul_is_kept() -> None:
    text = r"a regular expression: \u0000"

    assert load_json(dump_json([text, "\x00"])) == [text, "\ufffd"]


def test_numbers_that_json_does_not_know_become_null() -> None:
    assert load_json(dump_json({"a": math.nan, "b": [math.inf, 1]})) == {"a": None, "b": [None, 1]}


def test_what_json_does_not_know_is_an_error() -> None:
    with pytest.raises(TypeError):
        dump_json({"a": object()})
    with pytest.raises(json.JSONDecodeError):
        load_json("{")


def test_every_text_of_a_record_is_cleaned() -> None:
    origin = Origin(adapter="a\x00", sender_name="\ud800b")

    assert cleaned(origin) == Origin(adapter="a\ufffd", sender_name="\ufffdb")
    assert cleaned(("\x00", 1, None, RunKind.TASK)) == ("\ufffd", 1, None, RunKind.TASK)
    assert cleaned({"\x00": ["\ud800"]}) == {"\ufffd": ["\ufffd"]}
