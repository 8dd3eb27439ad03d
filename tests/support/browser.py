"""Chromium for the tests of the page, and what it was seen to do: requests, complaints, traps.

The browser is the one of the machine (`TEST_CHROMIUM`); none is downloaded. Each test has a context
of its own, which is to a browser what a fresh profile is.
"""

import contextlib
import os
import shutil
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import urlsplit

import pytest
from playwright.async_api import (
    Browser,
    BrowserContext,
    Page,
    Request,
    async_playwright,
    expect,
)
from playwright.async_api import Error as PlaywrightError

from .screenshots import keep

type Theme = Literal["light", "dark"]

PROGRAM = os.environ.get("TEST_CHROMIUM") or shutil.which("chromium") or ""
WAIT_MILLISECONDS = 20_000
"""How long the page may take for anything that a test waits for."""

_ARGUMENTS = (
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """How a person's browser is set up."""

    theme: Theme = "light"
    locale: str = "en-US"
    width: int = 1280
    height: int = 800
    reduced_motion: bool = True
    """Moving things would make screenshots differ."""


@dataclass(kw_only=True)
class Witness:
    """What the pages of one context did."""

    urls: list[str] = field(default_factory=list)
    """Of every request, in their order."""
    _asked_by: list[tuple[str, str]] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)
    """Errors and warnings in the console, and errors that nobody caught."""

    def hosts(self) -> set[str]:
        """Where requests went to, as `host:port`."""
        addresses = map(urlsplit, self.urls)
        return {each.netloc for each in addresses if each.scheme not in {"data", "blob", "about"}}

    def hosts_of(self, part: str) -> set[str]:
        """Where frames asked whose own address holds a text."""
        return {urlsplit(url).netloc for url, frame in self._asked_by if part in frame}

    def watch(self, context: BrowserContext) -> None:
        """Note what the context's pages do from now on."""
        context.on("request", self._asked)
        context.on("console", lambda message: self._said(message.type, message.text))
        context.on("weberror", lambda error: self.complaints.append(f"uncaught: {error.error}"))

    def _asked(self, request: Request) -> None:
        self.urls.append(request.url)
        # What loads a frame is asked before there is one.
        if not request.is_navigation_request():
            self._asked_by.append((request.url, request.frame.url))

    def _said(self, kind: str, text: str) -> None:
        if kind in {"error", "warning"}:
            self.complaints.append(f"{kind}: {text}")


@asynccontextmanager
async def chromium() -> AsyncIterator[Browser]:
    """The browser, without a window."""
    if not PROGRAM:
        pytest.fail("no Chromium: TEST_CHROMIUM names none, and there is none on PATH")
    # Its sandbox does not work for root, whom containers like to use.
    as_root = ("--no-sandbox",) if os.geteuid() == 0 else ()
    expect.set_options(timeout=WAIT_MILLISECONDS)
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=PROGRAM, args=[*_ARGUMENTS, *as_root]
        )
        yield browser
        await browser.close()


@asynccontextmanager
async def opened(
    browser: Browser, witness: Witness, look: Look, *, state: object = None
) -> AsyncIterator[Page]:
    """A page in a context of its own.

    Args:
        browser: Where.
        witness: Notes what it does.
        look: Theme, language and size.
        state: What `BrowserContext.storage_state` gave: somebody who has signed in.
    """
    context = await browser.new_context(
        color_scheme=look.theme,
        locale=look.locale,
        timezone_id="UTC",
        viewport={"width": look.width, "height": look.height},
        reduced_motion="reduce" if look.reduced_motion else "no-preference",
        storage_state=state,
    )
    context.set_default_timeout(WAIT_MILLISECONDS)
    witness.watch(context)
    page = await context.new_page()
    try:
        yield page
    except BaseException:
        # What a person would look at first.
        with contextlib.suppress(PlaywrightError):
            await keep(page, f"failed {os.environ.get('PYTEST_CURRENT_TEST', '')}")
        raise
    finally:
        await context.close()


def without(complaints: Sequence[str], *known: str) -> list[str]:
    """Complaints but those that hold a known text."""
    return [each for each in complaints if not any(text in each for text in known)]
