"""The pace at which runs begin: many that may begin at once let the event loop breathe."""

import asyncio

from astrbot_plugin_subagents.manager.runs.pace import Pace


async def begun_in_passes(pace: Pace, count: int) -> list[int]:
    """How many of so many have begun after each pass of the event loop, until all have."""
    begun: list[int] = []

    async def begin(number: int) -> None:
        await pace.turn()
        begun.append(number)

    tasks = [asyncio.create_task(begin(number)) for number in range(count)]
    passes = []
    while len(begun) < count:
        await asyncio.sleep(0)
        passes.append(len(begun))
    await asyncio.gather(*tasks)
    assert begun == list(range(count))
    return passes


async def test_two_begin_at_once() -> None:
    assert await begun_in_passes(Pace(), 2) == [2]


async def test_many_begin_a_few_in_each_pass_in_their_order() -> None:
    passes = await begun_in_passes(Pace(), 200)

    steps = [after - before for before, after in zip([0, *passes], passes, strict=False)]
    assert max(steps) == 2


async def test_one_that_is_cancelled_takes_no_turn() -> None:
    pace = Pace()
    tasks = [asyncio.create_task(pace.turn()) for _ in range(5)]
    await asyncio.sleep(0)
    for task in tasks[2:4]:
        task.cancel()

    async with asyncio.timeout(5):
        await tasks[4]

    assert [task.cancelled() for task in tasks] == [False, False, True, True, False]


async def test_the_next_two_begin_at_once_again() -> None:
    pace = Pace()
    await begun_in_passes(pace, 2)
    await asyncio.sleep(0)

    assert await begun_in_passes(pace, 2) == [2]
