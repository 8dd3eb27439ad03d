"""What attackers found on rights, folders and the board, each held by the right behaviour."""

from datetime import UTC
from typing import Any

import pytest

from astrbot_plugin_subagents.manager import SessionId, Sessions, Settings
from astrbot_plugin_subagents.manager.errors import InvalidArgument
from astrbot_plugin_subagents.manager.models import OwnerId, SharedEntry, ToolUse
from astrbot_plugin_subagents.manager.shared_context import board_name, view
from astrbot_plugin_subagents.manager.testing import EPOCH, FakeHost, Say, Use, says
from astrbot_plugin_subagents.manager.workdir import checked_workdir, session_folder
from astrbot_plugin_subagents.subagent_tools import child_tools
from support import core

make_core = core.make_core


async def test_memory_that_was_off_while_a_member_wrote_does_not_hide_the_members_mark(
    make_core: core.MakeCore,
) -> None:
    it = await make_core(
        host=FakeHost(admins=("root",)), settings=Settings(history_enabled=False), static=("clerk",)
    )
    await it.call("transfer_to_clerk", await it.turn("bob"), input="x")
    later = await make_core(
        host=FakeHost(admins=("root",)), store=it.store, clock=it.clock, static=("clerk",)
    )

    await later.call("transfer_to_clerk", await later.turn("root", is_admin=True), input="y")

    assert later.host.requests[0].history
    assert later.host.requests[0].member_rights


async def test_a_dynamic_namesake_does_not_wipe_the_mark_of_a_static_agent(
    make_core: core.MakeCore,
) -> None:
    it = await make_core(host=FakeHost(admins=("root",)), static=("clerk",))
    member = await it.turn("bob")
    await it.call("transfer_to_clerk", member, input="x")
    configured, it.static = it.static, ()
    await it.create("clerk", member)
    await it.call("remove_subagent", member, name="clerk")
    later = await make_core(host=FakeHost(admins=("root",)), store=it.store, clock=it.clock)
    later.static = configured

    await later.call("transfer_to_clerk", await later.turn("root", is_admin=True), input="y")

    assert later.host.requests[0].history
    assert later.host.requests[0].member_rights


def test_a_chat_works_in_no_other_chats_folder_whatever_is_allowed(tmp_path: Any) -> None:
    files = tmp_path / "files"
    own, other = (session_folder(files, SessionId(name)) for name in ("own", "other"))
    allowed = (own, tmp_path)

    assert checked_workdir(str(own / "a"), allowed, private=files) == str(own / "a")
    assert checked_workdir(str(tmp_path / "b"), allowed, private=files) == str(tmp_path / "b")
    for wanted in (other, other / "a", files):
        with pytest.raises(InvalidArgument):
            checked_workdir(str(wanted), allowed, private=files)


def test_a_session_folder_that_is_a_link_to_another_chats_is_refused(tmp_path: Any) -> None:
    files = tmp_path / "files"
    own, other = (session_folder(files, SessionId(name)) for name in ("own", "other"))
    other.mkdir(parents=True)
    own.symlink_to(other)

    with pytest.raises(InvalidArgument):
        checked_workdir(str(own / "a"), (own,), private=files)


def test_a_board_is_shown_as_far_as_it_fits_the_newest_notes_first() -> None:
    notes = [
        SharedEntry(
            seq=number,
            kind="message",
            sender="scout",
            owner=OwnerId("alice"),
            content=f"note {number} " + "x" * 9_000,
            at=EPOCH,
        )
        for number in range(1, 61)
    ]

    text = view(notes, zone=UTC)

    assert len(text) < 25_000
    assert "(58 older notes are left out)" in text
    assert "note 59 " in text
    assert "note 60 " in text


def test_an_agent_with_the_main_agents_name_is_told_apart_on_the_board() -> None:
    assert [board_name(name) for name in ("Main", "scout")] == ["sub-agent Main", "scout"]


async def test_a_note_that_is_refused_is_an_error_of_the_childs_tool(
    make_core: core.MakeCore,
) -> None:
    post = Use(tool="send_shared_context", arguments='{"context_type": "loud", "content": "x"}')
    it = await make_core(says(post, Say(text="done")))
    await it.sessions.close()
    it.services = core.replace(it.services, child_tools=child_tools)
    it.sessions = Sessions(it.services)
    await it.sessions.start()
    turn = await it.turn()
    await it.create("scout", turn)

    run_id = core.task_id(await it.call("transfer_to_scout", turn, input="x"))

    used = (await it.run(run_id)).tools_used
    assert used == (ToolUse(name="send_shared_context", calls=1, errors=1),)
