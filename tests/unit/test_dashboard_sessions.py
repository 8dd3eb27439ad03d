"""Sessions on the page: the list of all, and one with its agents, switches and limits."""

import asyncio
from typing import Any

import pytest

from astrbot_plugin_subagents.dashboard_api.shaping import title_of
from astrbot_plugin_subagents.manager.models import SessionId
from astrbot_plugin_subagents.manager.testing import Fail, Hang, Say, says
from support import core, dashboard

open_page = dashboard.open_page


def of(reply: dict[str, Any]) -> list[str]:
    """The sessions of a list."""
    return [each["session"] for each in reply["items"]]


async def test_sessions_are_listed_most_recently_active_first(
    open_page: dashboard.OpenPage,
) -> None:
    page = await open_page()
    for session in ("qq:GroupMessage:7", "qq:FriendMessage:8"):
        await page.it.create("scout", await page.it.turn(session=session))
        page.it.clock.advance(60)

    reply = await page.get("/sessions", limit=1)
    rest = await page.get("/sessions", limit=1, offset=1)

    assert reply == {
        "items": [
            {
                "session": "qq:FriendMessage:8",
                "title": "qq · Friend · 8",
                "adapter": "qq",
                "last_active_at": "2030-01-01T12:01:00.000Z",
                "created_at": "2030-01-01T12:01:00.000Z",
                "agents": 1,
                "running": 0,
                "queued": 0,
                "waiting": 0,
                "runs_total": 0,
                "failed_today": 0,
                "tokens_today": 0,
            }
        ],
        "total": 2,
    }
    assert of(rest) == ["qq:GroupMessage:7"]


async def test_sessions_can_be_narrowed(open_page: dashboard.OpenPage) -> None:
    page = await open_page(says(Fail()))
    turn = await page.it.turn(session="qq:GroupMessage:7")
    await page.it.create("scout", turn)
    await page.it.call("transfer_to_scout", turn, input="look")
    await page.it.create("scout", await page.it.turn(session="tg:FriendMessage:8"))

    assert of(await page.get("/sessions", query="TG:")) == ["tg:FriendMessage:8"]
    assert of(await page.get("/sessions", only="failed")) == ["qq:GroupMessage:7"]
    assert of(await page.get("/sessions", only="live")) == []


@pytest.mark.parametrize(
    ("session", "title"),
    [
        ("qq:GroupMessage:7", "qq · Group · 7"),
        (
            "webchat:FriendMessage:webchat!astrbot!0a1b2c3d-1111-2222-3333-444455556666",
            "webchat · Friend · 0a1b2c3d-1111…",
        ),
        ("chat", "chat"),
        ("a:b", "a · b"),
        ("", ""),
    ],
)
def test_a_title_is_short_and_names_the_chat(session: str, title: str) -> None:
    assert title_of(SessionId(session)) == title


SCOUT = {
    "name": "scout",
    "kind": "dynamic",
    "protected": False,
    "owner": "alice",
    "owner_name": None,
    "description": "Looks around.",
    "system_prompt": "You are scout.",
    "tools": ["search"],
    "skills": [],
    "provider_id": "",
    "workdir": "",
    "persona_id": "",
    "status": "running",
    "memory_messages": 0,
    "created_at": "2030-01-01T12:00:00.000Z",
    "editable": True,
}


async def test_a_session_shows_its_agents_at_work(open_page: dashboard.OpenPage) -> None:
    hang = Hang()
    page = await open_page(says(hang, Say(text="done")), static=("helper",))
    turn = await page.it.turn()
    await page.it.create("scout", turn, tools=["search"], description="Looks around.")
    run_id = core.task_id(
        await page.it.call("transfer_to_scout", turn, input="look", background_task=True)
    )
    second = core.task_id(
        await page.it.call("transfer_to_scout", turn, input="again", background_task=True)
    )
    async with asyncio.timeout(core.LONG):
        await hang.reached.wait()

    reply = await page.get("/session", session="chat")

    assert [(card["name"], card["status"]) for card in reply["agents"]] == [
        ("helper", "idle"),
        ("scout", "running"),
    ]
    assert reply["agents"][1] == {**SCOUT, "running": [run_id], "queued": [second]}
    assert not reply["agents"][0]["editable"]
    assert reply["session"]["session"] == "chat"
    assert reply["limits"] == {
        "max_dynamic_subagent_count": 3,
        "free_agents": 2,
        "max_parallel_per_session": 16,
        "free_places": 15,
    }
    assert reply["memory"] == {"on": True, "own": None}
    assert reply["board"] == {"on": True, "own": None, "notes": 0}


async def test_a_session_that_is_not_in_memory_is_read_and_not_opened(
    open_page: dashboard.OpenPage,
) -> None:
    page = await open_page(static=("helper",))
    await page.it.create("scout", await page.it.turn())
    later = await open_page(store=page.it.store, static=("helper",))

    reply = await later.get("/session", session="chat")
    notes = await later.get("/board", session="chat")
    memory = await later.get("/memory", session="chat", agent="HELPER")

    assert [card["name"] for card in reply["agents"]] == ["helper", "scout"]
    assert reply["limits"]["free_places"] == 16
    assert (notes, memory) == ({"items": []}, {"items": [], "total": 0})
    assert later.it.sessions.all_loaded() == []


async def test_a_look_changes_nothing(open_page: dashboard.OpenPage) -> None:
    page = await open_page(static=("helper",))
    await page.it.create("scout", await page.it.turn())
    before = await core.snapshot(page.it)

    for path in ("/session", "/timeline", "/board"):
        await page.get(path, session="chat")
    await page.get("/memory", session="chat", agent="scout")
    for path in ("/overview", "/sessions", "/runs", "/usage", "/catalog", "/settings"):
        await page.get(path)

    assert await core.snapshot(page.it) == before


@pytest.mark.parametrize("path", ["/session", "/timeline", "/board"])
@pytest.mark.parametrize("session", ["nobody", "../../etc/passwd", "a" * 2000, "ü:%00:'\"<script>"])
async def test_an_unknown_session_is_not_found(
    open_page: dashboard.OpenPage, path: str, session: str
) -> None:
    page = await open_page()

    refused = await page.get_refused(path, session=session)

    assert refused == dashboard.Refused(status=404, code="not_found", fields={})
