"""The workforce brings each run to one process, and to another when that one stops.

The double and the engine are held to the same.
"""

import asyncio

from astrbot_plugin_subagents.manager.models import RunId
from support import workforces
from support.workforces import AnyCrew, Worker

crew = workforces.any_crew
ONE, TWO, THREE = RunId("one"), RunId("two"), RunId("three")


async def test_a_run_is_executed_by_one_process_and_is_then_forgotten(crew: AnyCrew) -> None:
    ann, bob = await (await crew.worker("ann")).works(), await (await crew.worker("bob")).works()

    await ann.workforce.send(ONE)
    at_work = await first_to_begin(ann, bob)
    assert await bob.workforce.lost([ONE]) == []
    at_work.finish(ONE)

    assert await at_work.next_ended() == ONE
    await until_lost(bob, ONE)
    assert (ann.began.qsize(), bob.began.qsize()) == (0, 0)


async def test_a_run_for_one_home_waits_until_that_home_works(crew: AnyCrew) -> None:
    ann = await (await crew.worker("ann")).works()

    await ann.workforce.send(ONE, only="bob")
    await ann.workforce.send(TWO)
    assert await ann.next_begun() == TWO

    bob = await (await crew.worker("bob")).works()
    assert await bob.next_begun() == ONE


async def test_a_run_sent_again_on_its_way_or_at_work_is_executed_once(crew: AnyCrew) -> None:
    ann = await crew.worker("ann")
    await ann.workforce.send(ONE)
    await ann.workforce.send(ONE)
    bob = await (await crew.worker("bob")).works()
    assert await bob.next_begun() == ONE

    await ann.workforce.send(ONE)
    await bob.workforce.send(ONE)
    bob.finish(ONE)
    assert await bob.next_ended() == ONE
    await ann.workforce.send(TWO)

    assert await bob.next_begun() == TWO


async def test_a_process_takes_no_more_runs_than_it_has_places_for(crew: AnyCrew) -> None:
    ann = await (await crew.worker("ann", places=1)).works()
    await ann.workforce.send(ONE)
    await ann.workforce.send(TWO)
    assert await ann.next_begun() == ONE
    bob = await (await crew.worker("bob", places=1)).works()
    assert await bob.next_begun() == TWO

    await ann.workforce.send(THREE)
    bob.finish(TWO)

    assert await bob.next_begun() == THREE
    assert ann.began.empty()


async def test_a_run_that_waits_for_an_answer_leaves_its_place_to_another(crew: AnyCrew) -> None:
    ann = await (await crew.worker("ann", places=1)).works()
    await ann.workforce.send(ONE)
    await ann.workforce.send(TWO)
    assert await ann.next_begun() == ONE

    ann.workforce.waits(ONE, True)
    assert await ann.next_begun() == TWO
    ann.workforce.waits(ONE, False)
    await ann.workforce.send(THREE)
    ann.finish(TWO)
    assert await ann.next_ended() == TWO
    ann.finish(ONE)

    assert await ann.next_ended() == ONE
    assert await ann.next_begun() == THREE


async def test_what_a_process_that_stops_has_in_hand_is_brought_to_another(crew: AnyCrew) -> None:
    ann = await (await crew.worker("ann")).works()
    await ann.workforce.send(ONE)
    assert await ann.next_begun() == ONE
    bob = await (await crew.worker("bob")).works()

    await ann.workforce.close()

    assert await ann.next_ended() == "cancelled one"
    assert await bob.next_begun() == ONE


async def test_a_process_that_cannot_execute_a_run_sends_it_on_to_its_home(crew: AnyCrew) -> None:
    ann, bob = await crew.worker("ann"), await crew.worker("bob")

    async def send_on(run_id: RunId) -> None:
        await bob.workforce.send(run_id, only="ann")

    await ann.workforce.send(ONE)
    await bob.workforce.start(send_on)
    await ann.workforce.start(ann.execute)

    assert await ann.next_begun() == ONE


async def test_runs_that_were_never_sent_are_lost(crew: AnyCrew) -> None:
    ann = await crew.worker("ann")
    await ann.workforce.send(TWO)

    assert await ann.workforce.lost([ONE, TWO, THREE]) == [ONE, THREE]
    assert await ann.workforce.lost([]) == []


async def test_a_process_can_part_from_the_others_and_come_back(crew: AnyCrew) -> None:
    ann = await (await crew.worker("ann")).works()
    await ann.workforce.send(ONE)
    assert await ann.next_begun() == ONE
    await ann.part()

    again = await (await crew.worker("ann")).works()

    assert await again.next_begun() == ONE


async def test_processes_that_come_at_the_same_time_do_not_get_in_each_others_way(
    crew: AnyCrew,
) -> None:
    workers = await asyncio.gather(*(crew.worker(f"home-{number}") for number in range(4)))
    for worker in workers:
        await worker.works()

    await workers[0].workforce.send(ONE)

    at_work = await first_to_begin(*workers)
    at_work.finish(ONE)
    assert await at_work.next_ended() == ONE


async def first_to_begin(*workers: Worker) -> Worker:
    """Whoever begins a run first."""
    waits = {asyncio.create_task(each.next_begun()): each for each in workers}
    done, others = await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    for task in others:
        task.cancel()
    await asyncio.wait(waits)
    return waits[done.pop()]


async def until_lost(worker: Worker, run_id: RunId) -> None:
    """Wait until nobody knows the run any more, which comes a moment after its end."""
    async with asyncio.timeout(workforces.LIMIT_SECONDS):
        while not await asyncio.create_task(worker.workforce.lost([run_id])):
            continue
