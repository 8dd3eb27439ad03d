"""What runs made is sent behind the words of its result, by itself, to whom the words were told."""

import asyncio
from pathlib import Path

import pytest

from astrbot_plugin_subagents.manager import Settings, TurnEnd
from astrbot_plugin_subagents.manager.messenger import Way
from astrbot_plugin_subagents.manager.models import Artifact, Asker, DeliveryState, OwnerId, RunId
from astrbot_plugin_subagents.manager.settings import DeliverySettings
from astrbot_plugin_subagents.manager.testing import Say, Use, says
from support import core
from support.bringing import Stage, a_stage
from support.making import MakingHost

make_core = core.make_core
RELAY = Settings(delivery=DeliverySettings(mode="relay"))
DONE = DeliveryState.ACKNOWLEDGED


@pytest.fixture
def picture(tmp_path: Path) -> Artifact:
    """A picture that a child's tool made."""
    path = tmp_path / "picture.png"
    path.write_bytes(b"png")
    return Artifact(kind="image", path=str(path))


async def painted(
    make_core: core.MakeCore, picture: Artifact, settings: Settings, *, sends: bool = True
) -> tuple[Stage, str]:
    """A chat in which a background task has painted after its turn."""
    gate = asyncio.Event()
    script = says(Use(tool="paint", gate=gate), Say(text="painted"))
    stage = await a_stage(make_core, settings=settings, host=MakingHost(script, [picture]))
    (run_id,) = await stage.after_turn("look")
    if not sends:
        stage.messenger.unsendable.add(RunId(run_id))
    stage.messenger.gates = {Way.WAKE: asyncio.Event(), Way.TELL: asyncio.Event()}
    gate.set()
    await stage.it.until_over(run_id)
    await core.settled()
    return stage, run_id


async def go_on(stage: Stage) -> None:
    """Let what is on its way arrive."""
    for gate in stage.messenger.gates.values():
        gate.set()
    await core.settled()


@pytest.mark.parametrize("settings", [Settings(), RELAY], ids=["by a turn", "by a message"])
async def test_files_follow_the_words_once(
    make_core: core.MakeCore, picture: Artifact, settings: Settings
) -> None:
    stage, run_id = await painted(make_core, picture, settings)

    await go_on(stage)
    await stage.pass_time(1_000)

    assert await stage.states() == [DONE]
    assert stage.messenger.filed == [(run_id,)]


@pytest.mark.parametrize("again", [True, False], ids=["then sent", "never sent"])
async def test_files_that_cannot_be_sent_are_tried_twice_more(
    make_core: core.MakeCore, picture: Artifact, again: bool
) -> None:
    stage, run_id = await painted(make_core, picture, Settings(), sends=False)
    await go_on(stage)
    assert await stage.states() == [DONE]
    if again:
        stage.messenger.unsendable.clear()

    tries = [len(stage.messenger.filed)]
    for seconds in (4, 1, 30, 10_000):
        await stage.pass_time(seconds)
        tries.append(len(stage.messenger.filed))

    assert tries == ([1, 1, 2, 2, 2] if again else [1, 1, 2, 3, 3])
    assert set(stage.messenger.filed) == {(run_id,)}


async def test_words_that_cannot_be_sent_are_followed_by_no_files(
    make_core: core.MakeCore, picture: Artifact
) -> None:
    stage, _ = await painted(make_core, picture, RELAY, sends=False)

    await go_on(stage)

    assert stage.messenger.filed == []


async def test_a_turn_of_the_user_that_took_the_result_is_followed_by_no_files(
    make_core: core.MakeCore, picture: Artifact
) -> None:
    stage, run_id = await painted(make_core, picture, Settings())
    turn = await stage.it.turn()
    assert f"task_id: {run_id}\n" in await stage.it.notes(turn)

    await go_on(stage)
    await stage.it.end(turn)
    await stage.pass_time(1_000)

    assert await stage.states() == [DONE]
    assert stage.messenger.ended == [(TurnEnd.ANSWERED, ())]
    assert stage.messenger.filed == []


async def test_a_result_that_was_forgotten_is_followed_by_no_files(
    make_core: core.MakeCore, picture: Artifact
) -> None:
    stage, _ = await painted(make_core, picture, Settings())
    await (await stage.it.open()).forgetting.forget(Asker(owner=OwnerId("alice")))

    await go_on(stage)

    assert await stage.states() == [DeliveryState.CLOSED]
    assert stage.messenger.filed == []
