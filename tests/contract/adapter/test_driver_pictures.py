"""Pictures that go into a child and come out of it, in a real AstrBot."""

import base64
from collections.abc import Sequence
from pathlib import Path

import pytest

from astrbot_plugin_subagents.manager.host import AgentOutcome, ToolScope
from astrbot_plugin_subagents.manager.models import Artifact
from support.child_stage import PIXEL, ChildStage
from support.replies import calls, say

pytestmark = [pytest.mark.host, pytest.mark.asyncio(loop_scope="session")]


async def test_a_picture_goes_in_as_data_and_is_kept_as_a_reference(
    stage: ChildStage, tmp_path: Path
) -> None:
    picture = tmp_path / "dot.png"
    picture.write_bytes(base64.b64decode(PIXEL))

    _, seen = await stage.drive(say("a dot"), image_urls=(str(picture),))

    content = stage.model.requests_of("scout")[0].messages[-1]["content"]
    assert [part["type"] for part in content] == ["text", "image_url"]
    assert content[1]["image_url"]["url"].startswith("data:image/png;base64,")
    assert seen.messages[0]["content"] == f"the task\n[Image: {picture}]"


async def test_a_picture_is_there_again_when_a_run_is_taken_up(
    stage: ChildStage, tmp_path: Path
) -> None:
    picture = tmp_path / "dot.png"
    picture.write_bytes(base64.b64decode(PIXEL))
    recorded = ({"role": "user", "content": f"the task\n[Image: {picture}]"},)

    await stage.drive(say("a dot"), image_urls=(str(picture),), resume=recorded)

    content = stage.model.requests_of("scout")[0].messages[-1]["content"]
    assert [part["type"] for part in content] == ["text", "image_url"]


async def test_a_picture_that_is_gone_is_told_to_the_child(
    stage: ChildStage, tmp_path: Path
) -> None:
    outcome, _ = await stage.drive(say("I see none"), image_urls=(str(tmp_path / "gone.png"),))

    assert outcome == AgentOutcome(text="I see none")
    assert "1 of 1 images could not be read" in stage.model.requests_of("scout")[0].last_user_text()


async def test_a_picture_that_a_tool_made_is_an_artifact_and_shown_to_the_model(
    stage: ChildStage,
) -> None:
    _, seen = await stage.drive(
        calls(("draw", {}), ("draw", {})), say("a dot"), tools=ToolScope(assigned=("draw",))
    )

    made = [artifact for each in seen.told("tool_finished") for artifact in each.artifacts]
    assert [each.kind for each in made] == ["image", "image"]
    assert _exist(made) == [True, True]
    assert len({each.path for each in made}) == 2
    shown = stage.model.requests_of("scout")[1].messages[-1]["content"]
    assert [part["type"] for part in shown] == ["text", "image_url"] * 2
    kept = seen.messages[-2]
    assert kept["role"] == "user"
    assert kept["content"].startswith("[Image from tool 'draw'")
    assert PIXEL not in str(seen.messages)


def _exist(made: Sequence[Artifact]) -> list[bool]:
    return [Path(each.path).is_file() for each in made]
