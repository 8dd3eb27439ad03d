"""The dashboard's API over every kind of store: the same replies, the same stream."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from astrbot_plugin_subagents.manager.models import SessionId
from astrbot_plugin_subagents.manager.store import SqlStore, Store
from astrbot_plugin_subagents.manager.stored_event import StoredEvent
from astrbot_plugin_subagents.manager.testing import EPOCH, Fail, FakeHost, Say, Use, says
from support import core, dashboard, stores

any_store, empty_file = stores.any_store, stores.empty_file

SCRIPT = core.replies_by_task(
    look=says(Use(tool="search", arguments='{"q": "<b>"}', output="found"), Say(text="done")),
    fail=says(Fail()),
)
CHAT = SessionId("qq:GroupMessage:ü%'\"<x>")


@pytest.fixture
async def page(any_store: Store, tmp_path: Path) -> AsyncIterator[dashboard.Page]:
    """A page over a chat in which a run completed and one failed."""
    # the core opens it by itself
    await any_store.close()
    async with core.Core(tmp_path, host=FakeHost(SCRIPT), store=any_store) as it:
        turn = await it.turn(session=CHAT)
        await it.create("scout", turn, tools=["search"])
        for task in ("look", "fail"):
            await it.call("transfer_to_scout", turn, input=task)
            it.clock.advance(3)
            await core.settled()
        await until_kept(it, 10)
        page = dashboard.page_over(it)
        yield page
        await page.api.close()


async def until_kept(it: core.Core, event_id: int) -> None:
    """Wait until the store has so many events."""
    async with asyncio.timeout(core.LONG):
        while await it.store.last_event_id() < event_id:
            it.clock.advance(1)
            await core.settled()


def of(reply: dict[str, Any], key: str) -> list[Any]:
    """One key of all items of a list."""
    return [each[key] for each in reply["items"]]


async def test_every_look_is_the_same_on_every_store(page: dashboard.Page) -> None:
    overview = await page.get("/overview")
    sessions = await page.get("/sessions", query="%'\"<")
    session = await page.get("/session", session=CHAT)
    runs = await page.get("/runs", session=CHAT, state="failed,completed", query="LOO")
    run_id = runs["items"][0]["run_id"]
    run = await page.get("/run", session=CHAT, run_id=run_id)
    transcript = await page.get("/transcript", session=CHAT, run_id=run_id)
    memory = await page.get("/memory", session=CHAT, agent="scout", offset=1, limit=2)
    timeline = await page.get("/timeline", session=CHAT, since="2030-01-01T00:00:00Z")
    usage = await page.get("/usage", days=1)

    assert overview["totals"]["finished_today"] == overview["totals"]["failed_today"] == 1
    assert of(sessions, "session") == [CHAT]
    assert [agent["memory_messages"] for agent in session["agents"]] == [5]
    assert (runs["total"], run["state"], run["delivery"]) == (1, "completed", "handed")
    assert of(transcript, "text") == ["look", "", "found", "done"]
    assert of(transcript, "step") == [None, 2, 2, 2]
    assert (of(memory, "text"), of(memory, "index"), memory["total"]) == (["", "found"], [1, 2], 5)
    assert of(timeline, "input") == ["look", "fail"]
    assert usage["days"] == [
        {"day": "2030-01-01", "runs": 2, "failed": 1, "input": 20, "cached": 0, "output": 10}
    ]


async def test_the_stream_is_the_same_on_every_store(page: dashboard.Page) -> None:
    newest = await page.it.store.last_event_id()
    async with page.reader(after="0") as reader:
        events = await reader.events()
    async with page.reader(after=str(events[4]["id"]), session=CHAT) as reader:
        rest = await reader.events()

    assert [event["kind"] for event in events[:2]] == ["agent.created", "run.changed"]
    assert events[-1]["id"] == newest
    assert rest == events[5:]


async def test_what_is_done_is_kept(page: dashboard.Page) -> None:
    await page.post("/agents/edit", session=CHAT, name="scout", description="a\r\n\u2028b")
    note = await page.post("/board/post", session=CHAT, kind="system", content="Be brief.")
    await page.post("/switches", session=CHAT, memory=False)

    (agent,) = await page.it.store.load_agents(CHAT)
    record = await page.it.store.load_session(CHAT)
    assert agent.description == "a\r\n\u2028b"
    assert [each.seq for each in await page.it.store.load_shared_entries(CHAT)] == [note["seq"]]
    assert record is not None
    assert record.memory_enabled is False


@stores.needs_server
@pytest.mark.postgres
async def test_what_another_process_keeps_in_the_same_store_is_told(tmp_path: Path) -> None:
    event = StoredEvent(session=CHAT, kind="agent.removed", payload={"name": "scout"}, at=EPOCH)
    async with (
        stores.server_schema() as url,
        core.Core(tmp_path, store=SqlStore(url)) as it,
        stores.opened(SqlStore(url)) as other,
    ):
        page = dashboard.page_over(it)
        async with page.reader() as reader:
            await other.add_events([event])
            it.clock.advance(2)
            (told,) = await reader.events()

    assert (told["session"], told["kind"]) == (CHAT, "agent.removed")
