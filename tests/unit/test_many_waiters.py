"""Waiting costs nothing: nothing polls, however many wait."""

import asyncio
from collections.abc import Callable
from contextvars import Context
from pathlib import Path

from astrbot_plugin_subagents.manager.testing import FakeHost, Hang, Say, says
from support import core

MANY = 1000


class CountingLoop(asyncio.SelectorEventLoop):
    """An event loop that counts what it is asked to call."""

    calls = 0

    def call_soon[*Ts](
        self,
        callback: Callable[[*Ts], object],
        *args: *Ts,
        context: Context | None = None,
    ) -> asyncio.Handle:
        self.calls += 1
        return super().call_soon(callback, *args, context=context)

    def call_at[*Ts](
        self,
        when: float,
        callback: Callable[[*Ts], object],
        *args: *Ts,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        self.calls += 1
        return super().call_at(when, callback, *args, context=context)


def test_a_thousand_calls_that_wait_do_nothing_until_the_result_is_there(tmp_path: Path) -> None:
    with asyncio.Runner(loop_factory=CountingLoop) as runner:
        runner.run(story(tmp_path))


async def story(files: Path) -> None:
    loop = asyncio.get_running_loop()
    assert isinstance(loop, CountingLoop)
    hang = Hang()
    async with core.Core(files, host=FakeHost(says(hang, Say(text="at last")))) as it:
        turn = await it.turn()
        await it.create("scout", turn)
        run_id = core.task_id(
            await it.call("transfer_to_scout", turn, input="x", background_task=True)
        )
        manager = await it.open()
        waiting = [
            asyncio.create_task(manager.wait([run_id], turn, timeout_seconds=3600))
            for _ in range(MANY)
        ]
        await core.settled()
        # what has happened until now is written down once
        it.clock.advance(5)
        await core.settled()

        before = loop.calls
        for _ in range(50):
            it.clock.advance(1)
            await asyncio.sleep(0)
        # one step of this test each, and nothing else
        assert loop.calls - before == 50

        hang.gate.set()
        before = loop.calls
        outcomes = await asyncio.gather(*waiting)
        assert [len(outcome.finished) for outcome in outcomes] == [1] * MANY
        assert loop.calls - before < 10 * MANY
