"""Measures in the browser whether a page keeps up: its frames, and how long it is deaf."""

from dataclasses import dataclass
from typing import Any

from playwright.async_api import Frame

_BEGIN = """() => {
    const seen = { frames: [], tasks: [], on: true, last: performance.now() };
    seen.watcher = new PerformanceObserver((list) => {
        for (const entry of list.getEntries()) seen.tasks.push(entry.duration);
    });
    seen.watcher.observe({ entryTypes: ["longtask"] });
    const next = (now) => {
        seen.frames.push(now - seen.last);
        seen.last = now;
        if (seen.on) requestAnimationFrame(next);
    };
    requestAnimationFrame(next);
    window.smoothness = seen;
}"""
_END = """() => {
    const seen = window.smoothness;
    seen.on = false;
    for (const entry of seen.watcher.takeRecords()) seen.tasks.push(entry.duration);
    seen.watcher.disconnect();
    return { frames: seen.frames.slice(1), tasks: seen.tasks };
}"""
_SCROLL = """([selector, step, count]) => new Promise((done) => {
    const found = selector === "" ? document.scrollingElement : document.querySelector(selector);
    const from = found.scrollTop;
    let left = count;
    const next = () => {
        found.scrollTop += step;
        if (--left > 0) requestAnimationFrame(next);
        else done(found.scrollTop - from);
    };
    requestAnimationFrame(next);
})"""
_LONG_FRAME = 50.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Smoothness:
    """What was measured between two moments; times are milliseconds."""

    frames: tuple[float, ...]
    tasks: tuple[float, ...]
    """Spans of more than 50 ms in which the page could not answer."""

    @property
    def longest_task(self) -> float:
        """0: there was none of more than 50 ms."""
        return max(self.tasks, default=0.0)

    @property
    def long_frames(self) -> int:
        """How many frames were late for the eye."""
        return sum(frame > _LONG_FRAME for frame in self.frames)

    def told(self) -> str:
        """The figures in one line."""
        frames = sorted(self.frames)
        middle = frames[len(frames) // 2] if frames else 0.0
        longest = max(frames, default=0.0)
        return (
            f"{len(frames)} frames: median {middle:.0f} ms, longest {longest:.0f} ms, "
            f"{self.long_frames} over {_LONG_FRAME:.0f} ms; longest task {self.longest_task:.0f} ms"
        )


async def begin(frame: Frame) -> None:
    """Begin to watch a page."""
    await frame.evaluate(_BEGIN)


async def end(frame: Frame) -> Smoothness:
    """Stop watching it."""
    seen: dict[str, Any] = await frame.evaluate(_END)
    return Smoothness(frames=tuple(seen["frames"]), tasks=tuple(seen["tasks"]))


async def scroll(frame: Frame, selector: str, *, step: int, count: int) -> float:
    """Scroll by so many pixels in each of so many frames; return how far it came.

    Args:
        frame: The page.
        selector: What scrolls; "" is the page itself.
        step: Pixels, below 0 upwards.
        count: Frames.
    """
    return float(await frame.evaluate(_SCROLL, [selector, step, count]))
