"""What is done from the page: to agents, runs, notes and switches.

Who asks is an admin of the bot.
"""

import pytest

from astrbot_plugin_subagents.manager.settings import Settings
from astrbot_plugin_subagents.manager.testing import Hang, Say, Use, says
from astrbot_plugin_subagents.manager.testing_messenger import FakeMessenger
from support import core, dashboard
from support.dashboard import NEW_AGENT, a_page, at_work

open_page = dashboard.open_page

# ---- runs


async def test_a_run_is_cancelled(open_page: dashboard.OpenPage) -> None:
    page = await a_page(open_page)
    run_id = await at_work(page, Hang())

    reply = await page.post("/runs/cancel", session="chat", run_id=run_id)
    again = await page.post_refused("/runs/cancel", session="chat", run_id=run_id)

    assert (reply["run_id"], reply["state"], reply["actions"]["retry"]) == (
        run_id,
        "cancelled",
        True,
    )
    assert again == dashboard.Refused(status=409, code="run_already_finished", fields={})


async def test_a_run_is_steered(open_page: dashboard.OpenPage) -> None:
    page = await a_page(open_page)
    hang = Hang()
    run_id = await at_work(page, hang)

    reply = await page.post("/runs/steer", session="chat", run_id=run_id, text="Look left.")
    hang.gate.set()
    await page.it.until_over(run_id)
    late = await page.post_refused("/runs/steer", session="chat", run_id=run_id, text="And right.")

    assert reply == {}
    assert "Look left." in page.it.host.plans[-1].instruction
    assert (late.status, late.code) == (409, "run_already_finished")


async def test_a_question_is_answered_and_shown_as_a_wait(open_page: dashboard.OpenPage) -> None:
    page = await a_page(open_page, messenger=FakeMessenger())
    page.it.host.script = says(
        Use(tool="ask_question", arguments='{"question": "Which way?"}'), Say(text="done")
    )
    turn = await page.it.turn()
    reply = await page.it.call("transfer_to_scout", turn, input="look", background_task=True)
    run_id = core.task_id(reply)
    await page.it.until(lambda event: "waiting" in core.states_of([event], run_id))
    waiting = await page.get("/run", session="chat", run_id=run_id)
    page.it.clock.advance(5)
    await core.settled()

    assert (await page.post("/runs/answer", session="chat", run_id=run_id, answer="Left.")) == {}
    await page.it.until_over(run_id)
    again = await page.post_refused("/runs/answer", session="chat", run_id=run_id, answer="No.")
    page.it.clock.advance(5)
    await core.settled()
    (bar,) = (await page.get("/timeline", session="chat"))["items"]

    assert waiting["question"] == "Which way?"
    assert waiting["actions"]["answer"]
    assert (again.status, again.code) == (409, "no_open_question")
    assert bar["waits"] == [["2030-01-01T12:00:00.000Z", "2030-01-01T12:00:05.000Z"]]


async def test_a_finished_run_is_done_once_more_for_whom_it_was_done(
    open_page: dashboard.OpenPage,
) -> None:
    page = await a_page(open_page)
    turn = await page.it.turn()
    first = core.task_id(await page.it.call("transfer_to_scout", turn, input="look"))

    again = await page.post("/runs/retry", session="chat", run_id=first)
    await page.it.until_over(again["run_id"])

    assert (again["parent"], again["owner"], again["background"]) == (first, "alice", True)


async def test_nothing_is_done_once_more_while_the_plugin_is_switched_off(
    open_page: dashboard.OpenPage,
) -> None:
    page = await a_page(open_page)
    turn = await page.it.turn()
    run_id = core.task_id(await page.it.call("transfer_to_scout", turn, input="look"))
    off = await open_page(store=page.it.store, settings=Settings(enabled=False))

    refused = await off.post_refused("/runs/retry", session="chat", run_id=run_id)

    assert (refused.status, refused.code) == (409, "feature_off")


async def test_nothing_is_done_once_more_in_a_chat_that_is_switched_off(
    open_page: dashboard.OpenPage,
) -> None:
    messenger = FakeMessenger()
    page = await a_page(open_page, messenger=messenger)
    run_id = core.task_id(
        await page.it.call("transfer_to_scout", await page.it.turn(), input="look")
    )
    messenger.off.add(core.SessionId("chat"))

    refused = await page.post_refused("/runs/retry", session="chat", run_id=run_id)

    assert (refused.status, refused.code) == (409, "feature_off")


@pytest.mark.parametrize("action", ["cancel", "steer", "answer", "retry"])
async def test_what_is_not_there_is_not_found(open_page: dashboard.OpenPage, action: str) -> None:
    page = await a_page(open_page)
    more = {"steer": {"text": "x"}, "answer": {"answer": "x"}}.get(action, {})

    run = await page.post_refused(f"/runs/{action}", session="chat", run_id="../x", **more)
    session = await page.post_refused(f"/runs/{action}", session="nobody", run_id="x", **more)

    assert run == dashboard.Refused(status=404, code="run_not_found", fields={})
    assert session.status == 404
    assert [manager.session for manager in page.it.sessions.all_loaded()] == ["chat"]


# ---- board and switches


async def test_a_system_note_of_the_page_counts_for_every_user(
    open_page: dashboard.OpenPage,
) -> None:
    page = await a_page(open_page)

    note = await page.post("/board/post", session="chat", kind="system", content="Be brief.")
    await page.it.call("transfer_to_scout", await page.it.turn(), input="look")

    assert note == {
        "seq": 1,
        "kind": "system",
        "sender": "system",
        "owner": "",
        "target": "all",
        "content": "Be brief.",
        "at": "2030-01-01T12:00:00.000Z",
    }
    assert (await page.get("/board", session="chat")) == {"items": [note]}
    (board,) = [text for text in page.it.host.requests[-1].notes if "Be brief." in text]
    assert "to be followed:\n- [12:00:00] system, system -> all: Be brief." in board


async def test_a_message_of_the_page_is_data(open_page: dashboard.OpenPage) -> None:
    page = await a_page(open_page)

    note = await page.post(
        "/board/post", session="chat", kind="message", content="Hello.", target="SCOUT"
    )
    unknown = await page.post_refused(
        "/board/post", session="chat", kind="message", content="Hello.", target="bob"
    )
    await page.it.call("transfer_to_scout", await page.it.turn(), input="look")

    assert note["target"] == "scout"
    assert (unknown.status, unknown.code) == (404, "agent_not_found")
    (board,) = [text for text in page.it.host.requests[-1].notes if "Hello." in text]
    assert "to be followed" not in board


async def test_notes_are_taken_away(open_page: dashboard.OpenPage) -> None:
    page = await a_page(open_page)
    for content in ("One.", "Two."):
        await page.post("/board/post", session="chat", kind="system", content=content)

    nothing = await page.post("/board/clear", session="chat", sender="scout")
    both = await page.post("/board/clear", session="chat")

    assert (nothing, both) == ({"removed": 0}, {"removed": 2})
    assert (await page.get("/board", session="chat")) == {"items": []}


async def test_switches_are_turned_one_by_one_and_given_back(
    open_page: dashboard.OpenPage,
) -> None:
    page = await a_page(open_page)

    memory = await page.post("/switches", session="chat", memory=False)
    board = await page.post("/switches", session="chat", board=False)
    refused = await page.post_refused(
        "/board/post", session="chat", kind="system", content="Hello."
    )
    back = await page.post("/switches", session="chat", memory=None, board=None)

    assert memory["memory"] == {"on": False, "own": False}
    assert memory["board"] == {"on": True, "own": None, "notes": 0}
    assert board["memory"] == {"on": False, "own": False}
    assert board["board"] == {"on": False, "own": False, "notes": 0}
    assert (refused.status, refused.code) == (409, "feature_off")
    assert back["memory"] == {"on": True, "own": None}
    assert back["board"] == {"on": True, "own": None, "notes": 0}


async def test_a_store_that_fails_is_told_and_nothing_has_changed(
    open_page: dashboard.OpenPage,
) -> None:
    trouble = core.TroubledStore()
    page = await a_page(open_page, store=trouble.store)
    trouble.failing.add("save_agent")

    refused = await page.post_refused("/agents/create", **NEW_AGENT)

    assert refused == dashboard.Refused(status=503, code="store_unavailable", fields={})
    names = [each.name for each in (await page.it.open()).agents()]
    assert names == ["scout"]
