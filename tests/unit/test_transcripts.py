"""What is left to be read of a run: its messages, or its tool calls when its agent is gone."""

from astrbot_plugin_subagents.manager.testing import Say, Use, says
from support import core

make_core = core.make_core


async def test_the_log_of_a_run_outlives_its_agent_as_tool_calls(
    make_core: core.MakeCore,
) -> None:
    it = await make_core(says(Use(tool="search", output="found"), Say(text="done")))
    turn = await it.turn()
    await it.create("scout", turn)
    run_id = core.task_id(await it.call("transfer_to_scout", turn, input="look"))
    manager, run = await it.open(), await it.run(run_id)

    before = await manager.reader.transcript(run)
    await it.end(turn)
    after = await manager.reader.transcript(run)

    assert manager.agents() == []
    assert [body["role"] for body in before] == ["user", "assistant", "tool", "assistant"]
    assert [body["role"] for body in after] == ["assistant", "tool"]
    assert after[0]["tool_calls"][0]["function"] == {"name": "search", "arguments": "{}"}
    assert after[1]["content"] == "found"
