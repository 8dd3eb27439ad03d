"""Chats that another process of the bot looks after: all is seen, runs are reached by orders."""

from typing import Any

import pytest

from astrbot_plugin_subagents.manager.models import RunState
from support import core, dashboard
from support import fleet as fleets
from support.fleet import HOME, OTHER, WORKER, Fleet, Process

fleet = fleets.fleet


async def a_pair(fleet: Fleet) -> tuple[Process, dashboard.Page]:
    """The process that looks after the chat, and a page of another one."""
    home = await fleet.process(HOME, places=0)
    await fleet.process(WORKER)
    other = await fleet.process(OTHER, places=0)
    return home, dashboard.page_over(other)


async def test_a_run_elsewhere_is_seen_and_stopped(fleet: Fleet) -> None:
    home, page = await a_pair(fleet)
    (run_id,) = await home.after_turn("hang")
    await core.settled()

    seen = await page.get("/run", session="chat", run_id=run_id)
    await page.post("/runs/cancel", session="chat", run_id=run_id)
    await core.settled()
    after = await page.get("/run", session="chat", run_id=run_id)

    assert (seen["state"], seen["actions"]["cancel"]) == ("running", True)
    assert after["state"] == "cancelled"
    assert home.states(run_id)[-1] is RunState.CANCELLED


async def test_a_question_elsewhere_is_answered(fleet: Fleet) -> None:
    home, page = await a_pair(fleet)
    (run_id,) = await home.after_turn("ask")
    await core.settled()

    seen = await page.get("/run", session="chat", run_id=run_id)
    empty = await page.post_refused("/runs/answer", session="chat", run_id=run_id, answer=" ")
    await page.post("/runs/answer", session="chat", run_id=run_id, answer="Blue.")
    await core.settled()
    late = await page.post_refused("/runs/answer", session="chat", run_id=run_id, answer="Red.")

    assert (seen["state"], seen["question"]) == ("waiting", "Red or blue?")
    assert (empty.status, list(empty.fields)) == (400, ["answer"])
    assert (await fleet.row(run_id)).state is RunState.COMPLETED
    assert late.status == 409


async def test_what_a_run_elsewhere_is_told_reaches_it(fleet: Fleet) -> None:
    home, page = await a_pair(fleet)
    (run_id,) = await home.after_turn("ask")
    await core.settled()

    await page.post("/runs/steer", session="chat", run_id=run_id, text="Hurry.")
    await page.post("/runs/answer", session="chat", run_id=run_id, answer="Blue.")
    await core.settled()

    transcript = await page.get("/transcript", session="chat", run_id=run_id)
    assert "Hurry." in str(transcript)


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/agents/create", {"name": "painter", "system_prompt": "You paint."}),
        ("/agents/reset", {"name": "ann"}),
        ("/board/post", {"kind": "system", "content": "Hello."}),
        ("/switches", {"memory": False}),
        ("/runs/retry", {"run_id": "x"}),
    ],
)
async def test_what_the_other_process_has_in_memory_is_not_changed_here(
    fleet: Fleet, path: str, body: dict[str, Any]
) -> None:
    home, page = await a_pair(fleet)
    await home.after_turn("say")
    await core.settled()

    refused = await page.post_refused(path, session="chat", **body)

    assert (refused.status, refused.code) == (409, "elsewhere")
    assert page.it.sessions.all_loaded() == []


async def test_a_run_that_nobody_executes_yet_is_reached_in_its_home_alone(
    fleet: Fleet,
) -> None:
    home = await fleet.process(HOME, places=0)
    page = dashboard.page_over(await fleet.process(OTHER, places=0))
    (run_id,) = await home.after_turn("hang")
    await core.settled()

    refused = await page.post_refused("/runs/cancel", session="chat", run_id=run_id)

    assert (refused.status, refused.code) == (409, "elsewhere")
