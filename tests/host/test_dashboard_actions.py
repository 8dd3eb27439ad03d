"""What is done on the dashboard, on a real AstrBot: sub-agents, notes and tasks of a chat."""

import asyncio
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from support.astrbot_host import Bot
from support.replies import after, call, say
from support.script import Script, said
from support.webui_inside import WebUiInside, webui_inside

pytestmark = [pytest.mark.host, pytest.mark.asyncio(loop_scope="session")]

MAKE = ("create_subagent", {"name": "digger", "system_prompt": "Dig."})


@pytest_asyncio.fixture(loop_scope="session")
async def webui(bot: Bot) -> AsyncIterator[WebUiInside]:
    """Somebody who has signed in."""
    async with webui_inside(bot) as inside:
        yield inside


async def test_a_sub_agent_made_on_the_page_works_in_the_chat_and_stays(
    bot: Bot, webui: WebUiInside, model: Script
) -> None:
    model.main(call(*MAKE), say("made"))
    await bot.say("make one")
    wrong = await webui.post(
        "agents/create",
        {"session": bot.umo(), "name": "painter", "system_prompt": "Paint.", "tools": ["no_tool"]},
    )
    made = await webui.post(
        "agents/create",
        {"session": bot.umo(), "name": "painter", "system_prompt": "Paint.", "tools": ["*"]},
    )
    note = await webui.post(
        "board/post", {"session": bot.umo(), "kind": "system", "content": "Use red alone."}
    )

    model.child("painter", say("It is red."))
    model.main(call("transfer_to_painter", {"input": "a house"}), say("done"))
    await bot.say("paint")

    (request,) = model.requests_of("painter")
    session = await webui.get("session", session=bot.umo())
    runs = await webui.get("runs", session=bot.umo(), agent="painter")
    (run,) = runs.body["items"]
    transcript = await webui.get("transcript", session=bot.umo(), run_id=run["run_id"])
    assert (wrong.status, note.status) == (400, 200)
    assert made.body["owner"] == ""
    assert "Use red alone." in str(request)
    assert "to be followed" in str(request)
    assert [each["name"] for each in session.body["agents"]] == ["painter"]
    assert run["state"] == "completed"
    assert [(each["role"], each["text"]) for each in transcript.body["items"]] == [
        ("user", "a house"),
        ("assistant", "It is red."),
    ]


async def test_a_sub_agent_is_edited_and_a_task_is_stopped_and_done_once_more(
    bot: Bot, webui: WebUiInside, model: Script
) -> None:
    gate = asyncio.Event()
    umo = bot.umo()
    model.main(
        call(*MAKE),
        call("protect_subagent", {"name": "digger"}),
        call("transfer_to_digger", {"input": "a hole", "background_task": True}),
        say("it digs"),
        # results wake it, one by one or together
        then=say("there it is"),
    )
    model.child("digger", after(gate, say("too late")), say("A hole."))
    model.role("told", said("A hole."), then=say("there it is"))
    await bot.say("dig")
    await model.reached("digger")
    (run,) = (await webui.get("runs", session=umo, state="running")).body["items"]

    busy = await webui.post(
        "agents/edit", {"session": umo, "name": "digger", "system_prompt": "Dig deep."}
    )
    stopped = await webui.post("runs/cancel", {"session": umo, "run_id": run["run_id"]})
    edited = await webui.post(
        "agents/edit", {"session": umo, "name": "digger", "system_prompt": "Dig deep."}
    )
    again = await webui.post("runs/retry", {"session": umo, "run_id": run["run_id"]})
    gate.set()
    last = await model.reached("digger", 2)
    # else it would wake the chat in the middle of another test
    await model.reached("told")
    await model.idle()

    assert (busy.status, stopped.body["state"]) == (409, "cancelled")
    assert edited.body["system_prompt"] == "Dig deep."
    assert (again.body["parent"], again.body["state"]) == (run["run_id"], "running")
    assert "Dig deep." in str(last.messages)
