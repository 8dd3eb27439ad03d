"""Keeps pictures of the page, for people to look at after a test run: `.cache/screenshots`.

A picture is only taken of what shows no secret.
"""

import re
from collections.abc import Collection
from pathlib import Path

from playwright.async_api import Page

FOLDER = Path(__file__).resolve().parents[2] / ".cache" / "screenshots"

_VISIBLE = """() => [
    document.body.innerText,
    ...[...document.querySelectorAll("input, textarea")]
        .filter((field) => field.type !== "password")
        .map((field) => field.value),
].join("\\n")"""


async def keep(page: Page, name: str, *, secrets: Collection[str] = ()) -> Path:
    """Take a picture of what a page shows.

    Args:
        page: The page, with the frames in it.
        name: What the file is to be called; odd characters are replaced.
        secrets: Texts that may not be on it.

    Raises:
        AssertionError: One of them is; no picture was taken.
    """
    for frame in page.frames:
        shown = await frame.evaluate(_VISIBLE)
        assert [each for each in secrets if each in shown] == []
    FOLDER.mkdir(parents=True, exist_ok=True)
    file = FOLDER / f"{re.sub(r'[^\w.-]+', '-', name)}.png"
    await page.screenshot(path=file, animations="disabled")
    return file
