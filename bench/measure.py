"""Takes one sample: wall time and the processor time of this whole process."""

import time
from collections.abc import Awaitable, Callable, Mapping

from report import Sample

type Work = Callable[[], Awaitable[object]]


async def sample(work: Work) -> Sample:
    """Do the work once and say what it cost."""
    wall, cpu = time.perf_counter(), time.process_time()
    await work()
    return Sample(wall_seconds=time.perf_counter() - wall, cpu_seconds=time.process_time() - cpu)


async def side_by_side(
    works: Mapping[str, Work], *, times: int, before: Work
) -> dict[str, list[Sample]]:
    """Repeat several works in turns, so that all see the same machine.

    Args:
        works: By subject.
        times: How many samples of each are taken.
        before: Done before each round and not measured.
    """
    samples: dict[str, list[Sample]] = {name: [] for name in works}
    for work in works.values():
        await work()  # the first time fills caches
    for _ in range(times):
        await before()
        for name, work in works.items():
            samples[name].append(await sample(work))
    return samples
