"""Tool filters in the configuration: what is read, and what becomes of a broken one."""

from dataclasses import fields

import pytest

from astrbot_plugin_subagents.manager.settings import CustomFilterSettings, Settings, TaskSettings
from astrbot_plugin_subagents.plugin.config import ConfigProblem, parse_settings

MAIL = {"name": "mail", "allowed": ["read_mail"]}
READ_MAIL = CustomFilterSettings(name="mail", allowed=("read_mail",))


def filters_of(*entries: object) -> tuple[tuple[CustomFilterSettings, ...], list[ConfigProblem]]:
    settings, problems = parse_settings({"task": {"custom_filters": list(entries)}})
    return settings.task.custom_filters, list(problems)


def test_every_key_of_a_filter_is_read() -> None:
    entry = {"name": "x", "mode": "blacklist", "allowed": ["a"], "denied": [" b ", ""]}

    assert sorted(entry) == sorted(each.name for each in fields(CustomFilterSettings))
    assert filters_of({"__template_key": "filter", **entry}) == (
        (CustomFilterSettings(name="x", mode="blacklist", allowed=("a",), denied=("b",)),),
        [],
    )


def test_what_is_left_out_has_its_default_and_allows_nothing() -> None:
    (found,), problems = filters_of({"name": " 邮件 only "})

    assert problems == []
    assert found == CustomFilterSettings(name="邮件 only", mode="whitelist", allowed=(), denied=())


@pytest.mark.parametrize(
    ("broken", "key", "found", "accepted"),
    [
        ("mail", "[0]", "str", "a group of settings"),
        ({"allowed": ["x"]}, "[0].name", "", "a name of 1 to 64 printable characters"),
        ({"name": None}, "[0].name", "NoneType", "a name of 1 to 64 printable characters"),
        ({"name": "  "}, "[0].name", "str", "a name of 1 to 64 printable characters"),
        ({"name": "x" * 65}, "[0].name", "str", "a name of 1 to 64 printable characters"),
        ({"name": "a\nb"}, "[0].name", "str", "a name of 1 to 64 printable characters"),
        ({"name": "readonly"}, "[0].name", "str", "a name of 1 to 64 printable characters"),
        ({"name": "Full"}, "[0].name", "str", "a name of 1 to 64 printable characters"),
        ({"name": " none "}, "[0].name", "str", "a name of 1 to 64 printable characters"),
        ({"name": "x", "mode": "Blacklist"}, "[0].mode", "str", "one of `whitelist`, `blacklist`"),
        ({"name": "x", "allowed": "a"}, "[0].allowed", "str", "a list of texts"),
        ({"name": "x", "denied": None}, "[0].denied", "NoneType", "a list of texts"),
        ({"name": "x", "denied": [" "]}, "[0].denied", "list", "a list of texts"),
    ],
)
def test_a_broken_filter_is_left_out_and_the_rest_works(
    broken: object, key: str, found: str, accepted: str
) -> None:
    raw = {"custom_filters": [broken, MAIL], "max_tasks_per_call": 7}

    settings, problems = parse_settings({"task": raw, "max_steps": 9})

    task = TaskSettings(custom_filters=(READ_MAIL,), max_tasks_per_call=7)
    assert settings == Settings(task=task, max_steps=9)
    (problem,) = problems
    assert problem.key == f"task.custom_filters{key}"
    assert (problem.found, problem.entry) == (found, True)
    assert problem.accepted.startswith(accepted)
    assert problem.text.endswith("so this entry is left out.")


def test_a_name_of_64_characters_is_taken() -> None:
    (found,), problems = filters_of({"name": "x" * 64})

    assert (found.name, problems) == ("x" * 64, [])


def test_the_second_filter_of_a_name_is_left_out_whatever_its_capitals() -> None:
    filters, problems = filters_of(MAIL, {"name": "MAIL", "mode": "blacklist"}, {"name": "x"})

    assert filters == (READ_MAIL, CustomFilterSettings(name="x"))
    assert [(each.key, each.entry) for each in problems] == [("task.custom_filters[1].name", True)]


def test_a_filter_with_a_mistyped_key_is_left_out_since_it_would_deny_too_little() -> None:
    filters, problems = filters_of({"name": "x", "mode": "blacklist", "deny": ["pay"]}, MAIL)

    assert filters == (READ_MAIL,)
    assert [each.text for each in problems] == [
        (
            "`task.custom_filters[0].deny` (list) is no setting, so this entry is left out. "
            "Did you mean `task.custom_filters[0].denied`?"
        )
    ]


def test_filters_that_are_no_list_are_a_problem_and_there_is_none() -> None:
    settings, problems = parse_settings({"task": {"custom_filters": MAIL}})

    assert settings == Settings()
    assert [(each.key, each.accepted) for each in problems] == [
        ("task.custom_filters", "a list of groups of settings")
    ]


@pytest.mark.parametrize("name", ["readonly", "full", "none", "mail", " mail "])
def test_the_filter_of_tasks_can_be_a_built_in_one_and_one_of_ones_own(name: str) -> None:
    raw = {"default_tool_filter": name, "custom_filters": [MAIL]}

    settings, problems = parse_settings({"task": raw})

    assert (settings.task.default_tool_filter, problems) == (name.strip(), ())


@pytest.mark.parametrize("name", ["", "None", "READONLY", "Mail", "twice", "nothing"])
def test_a_filter_that_does_not_exist_is_a_problem_and_tasks_may_only_read(name: str) -> None:
    raw = {
        "default_tool_filter": name,
        "custom_filters": [MAIL, {"name": "twice", "allowed": 1}],
        "inherit_tools": False,
    }

    settings, problems = parse_settings({"task": raw})

    task = TaskSettings(custom_filters=(READ_MAIL,), inherit_tools=False)
    assert settings == Settings(task=task)
    assert [each.key for each in problems] == [
        "task.custom_filters[1].allowed",
        "task.default_tool_filter",
    ]
    assert problems[1].text == (
        "`task.default_tool_filter` takes the name of a tool filter (full, mail, none, readonly); "
        "a str that does not fit was found, so the default is used."
    )


@pytest.mark.parametrize("value", [0, -1, 1.5, "16", True])
def test_a_call_may_start_at_least_one_task(value: object) -> None:
    settings, problems = parse_settings({"task": {"max_tasks_per_call": value}})

    assert settings == Settings()
    assert [(each.key, each.accepted) for each in problems] == [
        ("task.max_tasks_per_call", "a whole number of at least 1 and at most 1000000000")
    ]
