"""A process that writes to a store until it is killed: `python -m support.store_writer FILE`.

It prints a line when the store is open, and one for each message that was committed.
"""

import asyncio
import sys

from astrbot_plugin_subagents.manager.store import RunWrite, SqlStore

from .stores import a_message, a_step, a_taken_run


def say(what: object) -> None:
    """Tell the test that reads our output."""
    sys.stdout.write(f"{what}\n")
    sys.stdout.flush()


async def write(path: str) -> None:
    """Write step after step of one run."""
    store = SqlStore(path)
    await store.open()
    run = await a_taken_run(store)
    say("open")
    seq = 0
    while True:
        seq += 1
        await store.write_run(
            RunWrite(run=run, steps=[a_step(run, f"{seq}.call")], messages=[a_message(run, seq)])
        )
        say(seq)


if __name__ == "__main__":
    asyncio.run(write(sys.argv[1]))
