"""An end that the store did not take when it came costs no memory, and no work is done twice."""

from typing import override

import pytest

from astrbot_plugin_subagents.manager import RunState, Turn
from astrbot_plugin_subagents.manager.errors import StoreUnavailable
from astrbot_plugin_subagents.manager.host import AgentRequest
from astrbot_plugin_subagents.manager.models import DeliveryState, MessageBody, SubAgentConfig
from astrbot_plugin_subagents.manager.store import MemoryStore, RunWrite, Store
from astrbot_plugin_subagents.manager.testing import Act, Say
from support import core, stores

store = stores.any_store
empty_file = stores.empty_file
make_core = core.make_core

RETRY_SECONDS = 10


class PickyStore(MemoryStore):
    """A store that does not take what one agent said."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error = error
        self.takes_ends = True
        """Whether it takes the end of that agent's runs without what was said."""

    @override
    async def write_run(self, write: RunWrite) -> None:
        if write.run.agent == "scout" and (write.messages or not self.takes_ends):
            raise self.error
        await super().write_run(write)


def answers(request: AgentRequest) -> list[Act]:
    return [Say(text=f"answer to {request.prompt}")]


def talk(*tasks: str) -> list[MessageBody]:
    return [
        body
        for task in tasks
        for body in (
            {"role": "user", "content": task},
            {"role": "assistant", "content": f"answer to {task}"},
        )
    ]


async def a_core(make_core: core.MakeCore, store: Store) -> tuple[core.Core, Turn, SubAgentConfig]:
    it = await make_core(answers, store=store)
    turn = await it.turn()
    scout = await it.create("scout", turn)
    await it.call("protect_subagent", turn, name="scout")
    return it, turn, scout


async def pass_time(it: core.Core, times: int = 1) -> None:
    for _ in range(times):
        await core.settled()
        it.clock.advance(RETRY_SECONDS)
        await core.settled()


async def test_the_next_run_of_the_same_turn_remembers_a_run_whose_end_was_missed(
    make_core: core.MakeCore, store: Store
) -> None:
    trouble = core.TroubledStore(store)
    it, turn, scout = await a_core(make_core, trouble.store)
    trouble.failing.add("write_run")
    await it.call("transfer_to_scout", turn, input="one")
    trouble.failing.clear()

    await it.call("transfer_to_scout", turn, input="two")
    await it.end(turn)

    assert list(it.host.requests[1].history) == talk("one")
    assert await it.stored_messages(scout) == talk("one", "two")
    assert await store.unfinished_runs() == []
    assert (await it.open()).is_idle()


async def test_a_reload_does_no_work_again_whose_end_was_missed_for_a_time(
    make_core: core.MakeCore, store: Store
) -> None:
    trouble = core.TroubledStore(store)
    it, turn, _ = await a_core(make_core, trouble.store)
    trouble.failing.add("write_run")
    one = core.task_id(await it.call("transfer_to_scout", turn, input="one"))
    trouble.failing.clear()
    two = core.task_id(await it.call("transfer_to_scout", turn, input="two"))
    await it.end(turn)
    await it.sessions.close()

    root = await make_core(answers, store=store, clock=it.clock)
    notes = await root.notes(await root.turn())

    assert root.host.requests == []
    assert (one in notes, two in notes) == (False, False)


async def test_a_run_waits_until_the_missed_end_before_it_is_written(
    make_core: core.MakeCore,
) -> None:
    trouble = core.TroubledStore()
    it, turn, scout = await a_core(make_core, trouble.store)
    trouble.failing.add("write_run")
    await it.call("transfer_to_scout", turn, input="one")
    two = core.task_id(await it.call("transfer_to_scout", turn, input="two", background_task=True))
    await pass_time(it, 3)
    assert [request.prompt for request in it.host.requests] == ["one"]
    trouble.failing.clear()

    await pass_time(it)
    await it.until_over(two)

    assert list(it.host.requests[1].history) == talk("one")
    assert await it.stored_messages(scout) == talk("one", "two")


async def test_a_run_that_waits_for_a_missed_end_can_be_stopped(make_core: core.MakeCore) -> None:
    trouble = core.TroubledStore()
    it, turn, _ = await a_core(make_core, trouble.store)
    trouble.failing.add("write_run")
    await it.call("transfer_to_scout", turn, input="one")
    two = core.task_id(await it.call("transfer_to_scout", turn, input="two", background_task=True))

    reply = await it.call("cancel_subagent_task", turn, task_id=two)

    assert "state: cancelled" in reply
    assert len(it.host.requests) == 1


async def test_another_agent_does_not_wait_for_a_missed_end(make_core: core.MakeCore) -> None:
    store = PickyStore(StoreUnavailable("no room for it"))
    it, turn, _ = await a_core(make_core, store)
    await it.create("other", turn)
    await it.call("transfer_to_scout", turn, input="one")

    reply = await it.call("transfer_to_other", turn, input="two")

    assert "state: completed" in reply


async def test_a_missed_end_that_still_fails_holds_up_no_other(make_core: core.MakeCore) -> None:
    picky = PickyStore(StoreUnavailable("no room for it"))
    trouble = core.TroubledStore(picky)
    it, turn, _ = await a_core(make_core, trouble.store)
    other = await it.create("other", turn)
    await it.call("protect_subagent", turn, name="other")
    trouble.failing.add("write_run")
    await it.call("transfer_to_scout", turn, input="one")
    await it.call("transfer_to_other", turn, input="two")
    trouble.failing.clear()

    await it.end(turn)

    assert await it.stored_messages(other) == talk("two")
    assert [run.agent for run in await picky.unfinished_runs()] == ["scout"]


async def test_a_missed_end_is_written_without_anybody_asking(make_core: core.MakeCore) -> None:
    trouble = core.TroubledStore()
    it, turn, scout = await a_core(make_core, trouble.store)
    trouble.failing.add("write_run")
    await it.call("transfer_to_scout", turn, input="one")
    await it.end(turn)
    await pass_time(it, 2)
    trouble.failing.clear()

    await pass_time(it)

    assert await it.stored_messages(scout) == talk("one")
    assert await it.store.unfinished_runs() == []
    assert (await it.open()).is_idle()


async def test_a_missed_acknowledgement_is_written_without_anybody_asking(
    make_core: core.MakeCore,
) -> None:
    trouble = core.TroubledStore()
    it, turn, _ = await a_core(make_core, trouble.store)
    await it.call("transfer_to_scout", turn, input="one")
    trouble.failing.add("update_deliveries")
    await it.end(turn)
    trouble.failing.clear()

    await pass_time(it)

    rows = await it.store.load_deliveries(turn.session, states=tuple(DeliveryState))
    assert [row.state for row in rows] == [DeliveryState.ACKNOWLEDGED]
    assert (await it.open()).is_idle()


async def test_what_the_store_never_takes_costs_the_memory_and_not_the_end(
    make_core: core.MakeCore,
) -> None:
    it, turn, scout = await a_core(make_core, PickyStore(StoreUnavailable("it is too big")))
    run_id = core.task_id(await it.call("transfer_to_scout", turn, input="one"))
    await it.end(turn)
    assert not (await it.open()).is_idle()

    await pass_time(it, 7)

    stored = await it.store.get_run(turn.session, (await it.run(run_id)).run_id)
    assert stored is not None
    assert (stored.state, stored.last_text) == (RunState.COMPLETED, "answer to one")
    assert await it.stored_messages(scout) == []
    assert (await it.open()).is_idle()


@pytest.mark.parametrize(
    "error", [StoreUnavailable("it is too big"), OverflowError("too large")], ids=repr
)
async def test_what_the_store_never_takes_is_not_done_again_after_a_reload(
    make_core: core.MakeCore, error: Exception
) -> None:
    store = PickyStore(error)
    store.takes_ends = False
    it, turn, _ = await a_core(make_core, store)
    await it.call("transfer_to_scout", turn, input="one")
    await it.end(turn)
    store.takes_ends = True
    await it.sessions.close()

    root = await make_core(answers, store=store, clock=it.clock)
    await core.settled()

    assert root.host.requests == []
    assert await store.unfinished_runs() == []
