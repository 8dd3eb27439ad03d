"""How quick the page is with a thousand chats and ten thousand tasks: figures, and wide bounds.

The bounds are far from what is measured, so that a busy machine does not break them; what they
hold is the kind: a list that keeps all its rows in the page, or a stream that is drawn event by
event, is slower by more than they allow. The figures are shown when all tests have run.
"""

import asyncio
import time
from collections.abc import Callable

import pytest
from playwright.async_api import Browser, Page, expect

from astrbot_plugin_subagents.manager.events import ToolStarted
from astrbot_plugin_subagents.manager.models import RunId, SessionId
from support import smoothness
from support.browser import Look, Witness
from support.page_stage import BusyStage, run_place
from support.page_views import view

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

type Tell = Callable[[str], None]

LOOK = Look(reduced_motion=False)
MOST_ELEMENTS = 3_000
"""In the page at any time, however long a list is."""
FIRST_VIEW_SECONDS = 4.0
"""Four times what a quiet machine takes at most."""
LONGEST_TASK = 1_000.0
"""Milliseconds in which a page may not answer, at most."""
ELEMENTS = "document.querySelectorAll('*').length"
SHOWN = "performance.getEntriesByName('first-contentful-paint')[0].startTime"


async def seconds_until(page: Page, selector: str, url: str) -> float:
    """How long a view takes, from asking for the page to its content."""
    begun = time.perf_counter()
    await page.goto(url)
    await expect(page.locator(selector).first).to_be_visible()
    return time.perf_counter() - begun


@pytest.mark.parametrize("name", ["overview", "chats", "chat", "tasks", "task", "usage"])
async def test_a_view_is_there_soon(
    browser: Browser, busy_stage: BusyStage, witness: Witness, tell: Tell, name: str
) -> None:
    shown = view(busy_stage.big, name)
    async with busy_stage.stage.opened(browser, witness, LOOK) as page:
        await page.goto("about:blank")
        taken = await seconds_until(page, shown.selector, f"{busy_stage.stage.url}#/{shown.at}")
        elements = await page.evaluate(ELEMENTS)
        tell(f"first view of {name}: {taken:.2f} s, {elements} elements")

    assert taken < FIRST_VIEW_SECONDS
    assert elements < MOST_ELEMENTS


async def test_ten_thousand_tasks_are_scrolled_through(
    browser: Browser, busy_stage: BusyStage, witness: Witness, tell: Tell
) -> None:
    async with busy_stage.stage.opened(browser, witness, LOOK, at="runs") as page:
        await expect(page.locator("a.list-row").first).to_be_visible()
        await smoothness.begin(page.main_frame)
        far = await smoothness.scroll(page.main_frame, ".paged", step=400, count=180)
        seen = await smoothness.end(page.main_frame)
        elements = await page.evaluate(ELEMENTS)
        tell(f"scrolling tasks: {far:.0f} px, {elements} elements, {seen.told()}")
        await page.locator(".paged").evaluate("(list) => { list.scrollTop = list.scrollHeight }")
        last = page.locator("[aria-posinset='10000']")
        await expect(last.get_by_role("link")).to_be_visible()

    assert far > 50_000
    assert elements < MOST_ELEMENTS
    assert seen.longest_task < LONGEST_TASK


async def test_a_transcript_of_two_thousand_messages_is_scrolled_through(
    browser: Browser, busy_stage: BusyStage, witness: Witness, tell: Tell
) -> None:
    big = busy_stage.big
    at = run_place(big.long_run, big.busiest)
    async with busy_stage.stage.opened(browser, witness, LOOK, at=at) as page:
        await expect(page.get_by_role("article").first).to_be_visible()
        await smoothness.begin(page.main_frame)
        far = await smoothness.scroll(page.main_frame, "", step=400, count=180)
        seen = await smoothness.end(page.main_frame)
        elements = await page.evaluate(ELEMENTS)
        tell(f"scrolling a transcript: {far:.0f} px, {elements} elements, {seen.told()}")
        await page.get_by_role("button", name="To the end").click()
        await expect(page.get_by_role("article", name="2000. ")).to_be_visible()

    assert far > 10_000
    assert elements < 3 * MOST_ELEMENTS
    assert seen.longest_task < LONGEST_TASK


@pytest.mark.parametrize("name", ["overview", "chat", "task"])
async def test_two_hundred_events_a_second_do_not_freeze_a_view(
    browser: Browser, busy_stage: BusyStage, witness: Witness, tell: Tell, name: str
) -> None:
    big, stage = busy_stage.big, busy_stage.stage
    shown = view(big, name)
    async with stage.opened(browser, witness, LOOK, at=shown.at) as page:
        await expect(page.locator(shown.selector).first).to_be_visible()
        await expect(page.get_by_text("Live", exact=True)).to_be_visible()
        await smoothness.begin(page.main_frame)
        await stream(busy_stage, big.long_run, seconds=3.0, a_second=200)
        seen = await smoothness.end(page.main_frame)
        tell(f"200 events a second on {name}: {seen.told()}")
        await page.get_by_role("link", name="Usage").click()
        await expect(page.get_by_role("heading", level=1, name="Usage")).to_be_visible()

    assert seen.longest_task < LONGEST_TASK
    assert len(seen.frames) > 30
    assert witness.complaints == []


async def stream(busy_stage: BusyStage, run_id: RunId, *, seconds: float, a_second: int) -> None:
    """Tell of tool calls for some seconds, in bursts as they come."""
    services, session = busy_stage.stage.core.services, SessionId(busy_stage.big.busiest)
    bursts = 20
    for _ in range(int(seconds * bursts)):
        for number in range(a_second // bursts):
            services.bus.publish(
                ToolStarted(
                    session=session,
                    at=services.clock.now(),
                    run_id=run_id,
                    name="search",
                    arguments=f'{{"query": "{number}"}}',
                )
            )
        # The pace itself is what is tested.
        await asyncio.sleep(1 / bursts)
