"""Looks for barriers on a page with axe-core, the engine that most tools of this kind use."""

from importlib import resources
from typing import Any

from playwright.async_api import Frame

_ENGINE = resources.files("axe_playwright_python").joinpath("axe.min.js")
_LOOK = """async () => (await axe.run(document, {
    iframes: false,
    resultTypes: ["violations"],
    runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
})).violations"""
_SHOWN = 3


async def barriers(frame: Frame) -> list[str]:
    """What keeps people from using what a frame shows now, one line each.

    Returns:
        Serious and critical findings only; the others are matters of taste.
    """
    if not await frame.evaluate("typeof axe === 'object'"):
        await frame.evaluate(_ENGINE.read_text("utf-8"))
    found: list[dict[str, Any]] = await frame.evaluate(_LOOK)
    return [_line(each) for each in found if each["impact"] in {"serious", "critical"}]


def _line(finding: dict[str, Any]) -> str:
    places = [
        f"{' '.join(map(str, node['target']))} ({node['failureSummary'].splitlines()[-1].strip()})"
        for node in finding["nodes"][:_SHOWN]
    ]
    number = len(finding["nodes"])
    return f"{finding['impact']}: {finding['id']} in {number} places: {'; '.join(places)}"
