"""Waiting for results: all or one, with a limit, twice for the same, and for nothing at all."""

import asyncio
from typing import Any

import pytest

from astrbot_plugin_subagents.manager import RunState, Turn
from astrbot_plugin_subagents.manager.errors import RunNotFound
from astrbot_plugin_subagents.manager.events import ResultsHanded
from astrbot_plugin_subagents.manager.testing import FakeHost, Hang, Say, Script, says
from support import core

make_core = core.make_core


class Work:
    """Agents named after their tasks, each of which ends when its gate is opened."""

    def __init__(self, it: core.Core, turn: Turn, hangs: dict[str, Hang]) -> None:
        self.it = it
        self.turn = turn
        self.hangs = hangs
        self.ids: dict[str, str] = {}

    async def finish(self, *names: str) -> None:
        for name in names:
            self.hangs[name].gate.set()
            await self.it.until_over(self.ids[name])

    async def wait(self, *names: str, **arguments: Any) -> str:
        ids = [self.ids[name] for name in names]
        return await self.it.call("wait_for_subagent", self.turn, task_id=ids, **arguments)


async def started(make_core: core.MakeCore, *names: str) -> Work:
    hangs = {name: Hang() for name in names}
    scripts: dict[str, Script] = {
        name: says(hang, Say(text=f"{name} is done")) for name, hang in hangs.items()
    }
    it = await make_core(
        host=FakeHost(core.replies_by_task(**scripts), admins=("root",)),
        settings=core.many_agents(),
    )
    work = Work(it, await it.turn(), hangs)
    for name in names:
        await it.create(name, work.turn)
        work.ids[name] = core.task_id(
            await it.call(f"transfer_to_{name}", work.turn, input=name, background_task=True)
        )
    return work


async def test_a_wait_for_all_returns_when_the_last_is_done(make_core: core.MakeCore) -> None:
    work = await started(make_core, "a", "b")
    waiting = asyncio.create_task(work.wait("b", "a"))

    await work.finish("a")
    await core.settled()
    assert not waiting.done()
    await work.finish("b")
    reply = await waiting

    assert reply.index("b is done") < reply.index("a is done")
    assert "Not finished" not in reply


async def test_a_wait_for_any_returns_with_the_first_and_names_the_rest(
    make_core: core.MakeCore,
) -> None:
    work = await started(make_core, "a", "b")
    waiting = asyncio.create_task(work.wait("a", "b", mode="any"))
    await core.settled()

    await work.finish("b")
    reply = await waiting

    assert "b is done" in reply
    assert f"task_id: {work.ids['a']} | sub-agent: a | running" in reply


async def test_any_of_several_returns_at_once_when_one_is_done_already(
    make_core: core.MakeCore,
) -> None:
    work = await started(make_core, "a", "b")
    await work.finish("a")

    reply = await work.wait("a", "b", mode="any")

    assert "a is done" in reply
    assert f"{work.ids['b']} | sub-agent: b | running" in reply


async def test_a_wait_that_runs_out_says_how_things_stand_and_what_to_do(
    make_core: core.MakeCore,
) -> None:
    work = await started(make_core, "a", "b")
    await work.finish("a")
    waiting = asyncio.create_task(work.wait("a", "b", timeout=30))
    await core.settled()

    work.it.clock.advance(30)
    reply = await waiting

    assert "a is done" in reply
    assert "Not finished (30 s waited at most)" in reply
    assert "Do not wait again and again" in reply
    assert (await work.it.run(work.ids["b"])).state is RunState.RUNNING


async def test_a_wait_returns_before_the_host_ends_the_call(make_core: core.MakeCore) -> None:
    work = await started(make_core, "a")
    waiting = asyncio.create_task(
        work.it.call(
            "wait_for_subagent", work.turn, seconds_left=10, task_id=work.ids["a"], timeout=3600
        )
    )
    await core.settled()

    work.it.clock.advance(10)

    assert "Not finished (10 s waited at most)" in await waiting


async def test_a_wait_without_any_time_says_how_things_stand(make_core: core.MakeCore) -> None:
    work = await started(make_core, "a")
    waiting = asyncio.create_task(
        work.it.call("wait_for_subagent", work.turn, seconds_left=0, task_id=work.ids["a"])
    )
    await core.settled()

    work.it.clock.advance(0)

    assert "Not finished (0 s waited at most)" in await waiting


async def test_a_finished_task_is_given_at_once_and_again_when_asked_again(
    make_core: core.MakeCore,
) -> None:
    work = await started(make_core, "a", "b")
    await work.finish("a")

    first, second = await work.wait("a"), await work.wait("a")

    assert first == second
    assert "a is done" in first


async def test_one_task_named_twice_is_one_task(make_core: core.MakeCore) -> None:
    work = await started(make_core, "a")
    await work.finish("a")

    assert (await work.wait("a", "a")).count("a is done") == 1


async def test_two_who_wait_for_one_task_both_see_it_and_it_is_handed_over_once(
    make_core: core.MakeCore,
) -> None:
    work = await started(make_core, "a")
    both = [asyncio.create_task(work.wait("a")) for _ in range(2)]
    await core.settled()

    await work.finish("a")
    replies = await asyncio.gather(*both)

    assert ["a is done" in reply for reply in replies] == [True, True]
    handed = [event for event in work.it.events if isinstance(event, ResultsHanded)]
    assert [event.delivery_ids for event in handed] == [(work.ids["a"],)]
    await work.it.end(work.turn)
    assert "a is done" not in await work.it.notes(await work.it.turn())


async def test_a_wait_by_name_takes_all_unfinished_tasks_else_the_newest_result(
    make_core: core.MakeCore,
) -> None:
    work = await started(make_core, "a", "b")
    await work.finish("a")

    by_name = await work.it.call(
        "wait_for_subagent", work.turn, subagent_name=["A", "b"], mode="any"
    )

    assert "a is done" in by_name
    assert f"{work.ids['b']} | sub-agent: b | running" in by_name


async def test_a_wait_for_nothing_in_particular_takes_all_of_ones_own(
    make_core: core.MakeCore,
) -> None:
    work = await started(make_core, "a", "b")
    others = await work.it.turn("bob")
    waiting = asyncio.create_task(work.it.call("wait_for_subagent", work.turn))
    await core.settled()

    nothing = await work.it.call("wait_for_subagent", others)
    await work.finish("a", "b")
    reply = await waiting

    assert nothing.startswith("No task of yours is running.")
    assert "a is done" in reply
    assert "b is done" in reply


async def test_an_agent_without_a_task_says_so(make_core: core.MakeCore) -> None:
    it = await make_core()
    turn = await it.turn()
    await it.create("scout", turn)

    reply = await it.call("wait_for_subagent", turn, subagent_name="scout")

    assert reply == "scout: no task was given to it yet."


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"task_id": "nope"}, "There is no task 'nope'."),
        ({"subagent_name": "nope"}, "There is no sub-agent named 'nope'."),
        ({"task_id": [""]}, "`task_id[0]`"),
        ({"mode": "some"}, "`mode`"),
    ],
)
async def test_a_wait_for_what_is_not_there_is_refused(
    make_core: core.MakeCore, arguments: dict[str, Any], text: str
) -> None:
    work = await started(make_core, "a")

    reply = await work.it.call("wait_for_subagent", work.turn, **arguments)

    assert reply.startswith("Error: ")
    assert text in reply


async def test_a_near_task_id_is_named(make_core: core.MakeCore) -> None:
    work = await started(make_core, "a")

    reply = await work.it.call("wait_for_subagent", work.turn, task_id=work.ids["a"].upper())

    assert f"Did you mean '{work.ids['a']}'?" in reply


async def test_a_task_of_another_session_is_not_there(make_core: core.MakeCore) -> None:
    work = await started(make_core, "a")
    elsewhere = await work.it.open("other chat")

    with pytest.raises(RunNotFound):
        await elsewhere.wait(
            [work.ids["a"]], await work.it.turn(session="other chat"), timeout_seconds=1
        )


async def test_a_wait_ends_when_the_plugin_closes_and_says_that_the_task_goes_on(
    make_core: core.MakeCore,
) -> None:
    work = await started(make_core, "a")
    waiting = asyncio.create_task(work.wait("a"))
    await core.settled()

    await work.it.sessions.close()
    reply = await waiting

    assert "is being reloaded; these tasks go on" in reply
    assert work.ids["a"] in reply


async def test_a_foreground_task_returns_when_the_plugin_closes(
    make_core: core.MakeCore,
) -> None:
    hang = Hang()
    it = await make_core(says(hang))
    turn = await it.turn()
    await it.create("scout", turn)
    work = asyncio.create_task(it.call("transfer_to_scout", turn, input="Look."))
    await hang.reached.wait()

    await it.sessions.close()

    assert "is being reloaded; the task goes on" in await work
