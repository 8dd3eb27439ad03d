"""W1: one delegation, three model calls of the child, two of the main agent."""

import json
from pathlib import Path

from astrbot_bench import STATIC
from bound import bare_run, plain_opening
from core_bench import CoreBench
from floor import Floor
from measure import side_by_side
from model import CHILD_CALLS, CHILD_MARK, FOUND, LOOKUP
from report import Figure, figures

from support.astrbot_host import Bot
from support.astrbot_root import PROVIDER_ID

MAIN_CALLS = 2
WORKER = "bench_worker"


async def run(bot: Bot, model_url: str, folder: Path, *, delay: float, times: int) -> list[Figure]:
    """Measure all subjects side by side."""
    worker = {
        "name": WORKER,
        "system_prompt": CHILD_MARK,
        "tools": [LOOKUP],
        # as AstrBot's own sub-agent has one
        "provider_id": PROVIDER_ID,
    }
    setup = await bot.say(
        json.dumps([[["create_subagent", worker]], [["protect_subagent", {"name": WORKER}]]]),
        session="bench",
    )
    opening = plain_opening(bot, "measure")
    floor, core = Floor(model_url), CoreBench(folder)
    await core.open()

    async def plugin() -> None:
        await _turn(bot, f"transfer_to_{WORKER}", session="bench")

    async def astrbot() -> None:
        await _turn(bot, f"transfer_to_{STATIC}", session="bench_own")

    async def bound() -> None:
        assert await bare_run(bot, setup.event, opening) == FOUND

    async def new_conversations() -> None:
        # a growing history would soon be all that is measured
        await bot.say("/new", session="bench")
        await bot.say("/new", session="bench_own")

    works = {
        "plugin": plugin,
        "astrbot": astrbot,
        "bound": bound,
        "core": core.delegate,
        "floor": floor.run,
    }
    try:
        samples = await side_by_side(works, times=times, before=new_conversations)
    finally:
        await floor.close()
        await core.close()
    calls = {"plugin": MAIN_CALLS + CHILD_CALLS, "astrbot": MAIN_CALLS + CHILD_CALLS, "core": 0}
    return [
        figure
        for subject, taken in samples.items()
        for figure in figures(
            "W1",
            subject,
            n=1,
            samples=taken,
            ideal_seconds=calls.get(subject, CHILD_CALLS) * delay,
        )
    ]


async def _turn(bot: Bot, tool: str, *, session: str) -> None:
    """One user message that has one task handed over."""
    turn = await bot.say(json.dumps([[[tool, {"input": "measure"}]]]), session=session)
    assert turn.answer == FOUND, turn.answer
