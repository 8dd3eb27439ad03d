"""Lists of entries on the dashboard: what cannot be used is shown, and no saving loses it."""

import copy
from typing import Any

import pytest

from astrbot_plugin_subagents.dashboard_api.ports import InvalidSettings, SettingsChanged
from astrbot_plugin_subagents.manager import Settings
from astrbot_plugin_subagents.plugin.page_entries import TAG, tag_of
from support.settings_desk import Desk

POET = {"name": "poet", "tools": ["*"]}
BROKEN = {"name": "sage", "skills": 5, "system_prompt": "Be wise.", "tols": []}
NO_ENTRY = "just a text"
FILTERS: list[dict[str, Any]] = [{"name": "safe", "denid": ["shell"]}, {"name": "mine"}]


def an_agent(desk: Desk, name: str) -> dict[str, Any]:
    """A static agent as the page is shown it."""
    return next(each for each in desk.port.static_agents() if each["name"] == name)


def test_an_entry_that_cannot_be_used_is_shown_with_defaults_and_what_is_wrong() -> None:
    desk = Desk(static_agents=[POET, BROKEN, NO_ENTRY])

    poet, sage, nameless = desk.port.static_agents()

    assert (poet["name"], poet["tools"], poet["skills"]) == ("poet", ["*"], ["*"])
    assert (sage["name"], sage["skills"], sage["system_prompt"]) == ("sage", ["*"], "Be wise.")
    assert (nameless["name"], nameless["enabled"]) == ("", True)
    assert [key for key, _ in desk.port.static_problems()] == [
        "items.1.skills",
        "items.1.tols",
        "items.2",
    ]


@pytest.mark.parametrize(
    ("moved", "kept"),
    [
        ((2, 1, 0), [NO_ENTRY, BROKEN, POET]),
        ((1, 2), [BROKEN, NO_ENTRY]),
        ((0, 1), [POET, BROKEN]),
        ((), []),
    ],
)
def test_an_entry_that_was_not_changed_stays_as_it_stands(
    moved: tuple[int, ...], kept: list[Any]
) -> None:
    desk = Desk(static_agents=copy.deepcopy([POET, BROKEN, NO_ENTRY]))
    shown = desk.port.static_agents()

    desk.port.save_static([shown[index] for index in moved])

    marked = [
        {**each, "__template_key": "agent"} if isinstance(each, dict) else each for each in kept
    ]
    assert desk.config.file["static_agents"] == marked
    assert all(TAG not in each for each in kept)


def test_an_entry_is_mended_while_others_stay_broken() -> None:
    desk = Desk(static_agents=[BROKEN, NO_ENTRY])
    sage, nameless = desk.port.static_agents()

    desk.port.save_static([{**sage, "skills": []}, nameless])

    mended, other = desk.config.file["static_agents"]
    assert (mended["skills"], other) == ([], NO_ENTRY)
    assert not {"tols", TAG} & set(mended)
    assert [each.name for each in desk.live.configured().static_agents] == ["sage"]


def test_what_a_change_makes_of_an_unchanged_entry_is_told() -> None:
    desk = Desk(static_agents=[POET, {"name": "sage"}])
    poet, sage = desk.port.static_agents()

    with pytest.raises(InvalidSettings) as refused:
        desk.port.save_static([{**poet, "name": "SAGE"}, sage])

    assert list(refused.value.fields) == ["items.1.name"]
    assert desk.config.file == {"static_agents": [POET, {"name": "sage"}]}


def test_a_changed_entry_may_not_be_wrong_though_it_was_wrong_before() -> None:
    desk = Desk(static_agents=[BROKEN])
    (sage,) = desk.port.static_agents()

    with pytest.raises(InvalidSettings) as refused:
        desk.port.save_static([{**sage, "skills": 6}])

    assert list(refused.value.fields) == ["items.0.skills"]


def test_a_filter_with_a_mistyped_key_keeps_it_until_it_is_changed_itself() -> None:
    desk = Desk(task={"custom_filters": copy.deepcopy(FILTERS)})
    safe, mine = desk.port.values()["task"]["custom_filters"]

    desk.port.save({"task.custom_filters": [safe, {**mine, "denied": ["web"]}]})

    kept, changed = desk.config.file["task"]["custom_filters"]
    assert kept == {**FILTERS[0], "__template_key": "filter"}
    assert (changed["name"], changed["denied"]) == ("mine", ["web"])
    assert [each.name for each in desk.live.configured().task.custom_filters] == ["mine"]


def test_who_saves_on_what_has_changed_since_is_told_and_changes_nothing() -> None:
    desk = Desk(static_agents=[POET], max_steps=5)
    seen, seen_static = desk.port.revision(), desk.port.static_revision()
    desk.port.save({"max_steps": 6}, seen=seen)
    desk.port.save_static([*desk.port.static_agents(), {"name": "sage"}], seen=seen_static)
    before = copy.deepcopy(desk.config.file)

    with pytest.raises(SettingsChanged):
        desk.port.save({"max_steps": 7}, seen=seen)
    with pytest.raises(SettingsChanged):
        desk.port.save_static([], seen=seen_static)

    assert desk.config.file == before
    desk.port.save({"max_steps": 7}, seen=desk.port.revision())
    assert desk.live.configured().max_steps == 7


def test_static_agents_do_not_stand_in_the_way_of_the_other_settings() -> None:
    desk = Desk(max_steps=5)
    seen = desk.port.revision()
    desk.port.save_static([{"name": "sage"}], seen=desk.port.static_revision())

    desk.port.save({"max_steps": 6}, seen=seen)

    assert desk.live.configured().max_steps == 6


def test_a_tag_differs_where_the_entry_does_and_not_where_a_page_marked_it() -> None:
    assert tag_of(POET) == tag_of({**POET, "__template_key": "agent"})
    assert len({tag_of(each) for each in (POET, BROKEN, NO_ENTRY, None, ["a"], "\ud800")}) == 6


@pytest.mark.parametrize(
    "url",
    [
        "mysql://me@db/name",
        "hello",
        "postgresql://me@db:port/name",
        "postgresql://[half/name",
        "sqlite:///",
        "no\0path",
    ],
)
def test_an_address_that_no_store_has_is_not_saved(url: str) -> None:
    desk = Desk(max_steps=5)

    with pytest.raises(InvalidSettings) as refused:
        desk.port.save({"database_url": url, "max_steps": 6})

    assert list(refused.value.fields) == ["database_url"]
    assert "hello" not in str(refused.value.fields)
    assert desk.config.file == {"max_steps": 5}
    assert desk.live.configured() == Settings(max_steps=5)


@pytest.mark.parametrize(
    "url", ["", "/srv/bot.sqlite3", "~/bot.sqlite3", "postgresql://me:pw@db/name"]
)
def test_any_other_address_is_saved(url: str) -> None:
    desk = Desk(database_url="postgresql://old/name")

    desk.port.save({"database_url": url})

    assert desk.config.file["database_url"] == url
