"""What is done from the page to agents. Who asks is an admin of the bot."""

from typing import Any

import pytest

from astrbot_plugin_subagents.manager.settings import DynamicAgentSettings, Settings
from astrbot_plugin_subagents.manager.testing import FakeHost, Hang
from support import core, dashboard
from support.dashboard import NEW_AGENT, a_page, at_work

open_page = dashboard.open_page


async def test_an_agent_made_on_the_page_belongs_to_the_bot(open_page: dashboard.OpenPage) -> None:
    page = await a_page(open_page)

    card = await page.post("/agents/create", **NEW_AGENT)

    assert {key: card[key] for key in (*NEW_AGENT, "owner", "kind") if key != "session"} == {
        **{key: value for key, value in NEW_AGENT.items() if key != "session"},
        "owner": "",
        "kind": "dynamic",
    }
    stored = await page.it.store.load_agents(core.SessionId("chat"))
    assert [(each.name, each.owner, each.protected) for each in stored] == [
        ("scout", "alice", False),
        ("painter", "", True),
    ]


async def test_a_member_neither_replaces_nor_removes_the_bots_agent(
    open_page: dashboard.OpenPage,
) -> None:
    page = await a_page(open_page)
    await page.post("/agents/create", **(NEW_AGENT | {"protected": False}))
    turn = await page.it.turn("bob")
    before = await core.snapshot(page.it)

    with_words = await page.it.call(
        "create_subagent", turn, name="painter", system_prompt="You are bob's."
    )
    removal = await page.it.call("remove_subagent", turn, name="painter")
    await page.it.end(turn)

    assert "belongs to another user" in with_words
    assert "belongs to another user" in removal
    assert (await core.snapshot(page.it))[1:4] == before[1:4]


async def test_the_bots_agent_works_with_the_rights_of_who_asks(
    open_page: dashboard.OpenPage,
) -> None:
    host = FakeHost(skills=("drawing",), admins=("root",))
    page = await a_page(open_page, host=host)
    await page.post("/agents/create", **NEW_AGENT)

    for owner in ("root", "alice"):
        turn = await page.it.turn(owner)
        await page.it.call("transfer_to_painter", turn, input="paint")
        await page.post("/agents/reset", session="chat", name="painter")

    assert [request.member_rights for request in host.requests] == [False, True]


@pytest.mark.parametrize(
    ("changes", "status", "code", "field"),
    [
        ({"name": "scout"}, 409, "name_taken", "name"),
        ({"name": "SCOUT"}, 409, "name_taken", "name"),
        ({"name": "helper"}, 409, "name_taken", "name"),
        ({"name": "../x"}, 400, "invalid_name", "name"),
        ({"name": "all"}, 400, "invalid_name", "name"),
        ({"tools": ["search", "nothing"]}, 400, "unknown_reference", "tools"),
        ({"tools": ["create_subagent"]}, 400, "invalid_argument", "tools"),
        ({"skills": ["nothing"]}, 400, "unknown_reference", "skills"),
        ({"provider_id": "nothing"}, 400, "unknown_reference", "provider_id"),
        ({"system_prompt": " \n"}, 400, "invalid_argument", "system_prompt"),
        ({"workdir": "/etc"}, 400, "invalid_argument", "workdir"),
        ({"workdir": "../../.."}, 400, "invalid_argument", "workdir"),
    ],
)
async def test_an_agent_that_may_not_be_is_refused_and_nothing_has_changed(
    open_page: dashboard.OpenPage, changes: dict[str, Any], status: int, code: str, field: str
) -> None:
    page = await a_page(open_page, static=("helper",))
    before = await core.snapshot(page.it)

    refused = await page.post_refused("/agents/create", **(NEW_AGENT | changes))

    assert (refused.status, refused.code, list(refused.fields)) == (status, code, [field])
    assert await core.snapshot(page.it) == before


async def test_there_is_no_room_for_more_agents_than_the_settings_say(
    open_page: dashboard.OpenPage,
) -> None:
    settings = Settings(dynamic_agents=DynamicAgentSettings(max_dynamic_subagent_count=1))
    page = await a_page(open_page, settings=settings)

    refused = await page.post_refused("/agents/create", **NEW_AGENT)

    assert refused == dashboard.Refused(status=409, code="limit_reached", fields={})


async def test_an_agent_is_edited_and_keeps_its_memory_and_owner(
    open_page: dashboard.OpenPage,
) -> None:
    page = await a_page(open_page)
    await page.it.call("transfer_to_scout", await page.it.turn(), input="look")
    (before,) = await page.it.store.load_agents(core.SessionId("chat"))

    card = await page.post(
        "/agents/edit",
        session="chat",
        name="SCOUT",
        system_prompt="You look twice.",
        tools=["write"],
        description=None,
    )

    (after,) = await page.it.store.load_agents(core.SessionId("chat"))
    assert after == core.replace(before, system_prompt="You look twice.", tools=("write",))
    assert (card["owner"], card["memory_messages"]) == ("alice", 2)
    assert [event.kind for event in page.it.events].count("agent.changed") == 2


async def test_a_static_agent_and_one_at_work_are_not_edited(
    open_page: dashboard.OpenPage,
) -> None:
    hang = Hang()
    page = await a_page(open_page, static=("helper",))
    await at_work(page, hang)
    before = await core.snapshot(page.it)

    static = await page.post_refused("/agents/edit", session="chat", name="helper", description="x")
    busy = await page.post_refused("/agents/edit", session="chat", name="scout", description="x")
    unknown = await page.post_refused("/agents/edit", session="chat", name="bob", description="x")
    wrong = await page.post_refused("/agents/edit", session="chat", name="scout", tools=["x"])

    assert (static.status, static.code) == (409, "agent_static")
    assert (busy.status, busy.code) == (409, "agent_busy")
    assert (unknown.status, unknown.code) == (404, "agent_not_found")
    assert (wrong.status, wrong.code) == (409, "agent_busy")
    assert await core.snapshot(page.it) == before


async def test_an_edit_is_checked_as_a_new_agent_is(open_page: dashboard.OpenPage) -> None:
    page = await a_page(open_page)
    before = await core.snapshot(page.it)

    for key, value in (
        ("tools", ["nothing"]),
        ("skills", ["nothing"]),
        ("provider_id", "nothing"),
        ("workdir", "/etc"),
        ("system_prompt", " "),
    ):
        refused = await page.post_refused(
            "/agents/edit", session="chat", name="scout", **{key: value}
        )
        assert (refused.status, list(refused.fields)) == (400, [key])

    assert await core.snapshot(page.it) == before


async def test_an_agent_is_protected_reset_and_removed(open_page: dashboard.OpenPage) -> None:
    page = await a_page(open_page)
    await page.it.call("transfer_to_scout", await page.it.turn(), input="look")

    kept = await page.post("/agents/protect", session="chat", name="scout", protected=True)
    refused = await page.post_refused("/agents/remove", session="chat", name="scout")
    free = await page.post("/agents/protect", session="chat", name="scout", protected=False)
    fresh = await page.post("/agents/reset", session="chat", name="scout")
    gone = await page.post("/agents/remove", session="chat", name="scout")

    assert (kept["protected"], free["protected"]) == (True, False)
    assert (refused.status, refused.code) == (409, "agent_protected")
    assert (free["memory_messages"], fresh["memory_messages"]) == (2, 0)
    assert gone == {}
    assert (await page.get("/session", session="chat"))["agents"] == []
