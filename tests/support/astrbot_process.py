"""A whole AstrBot as a process of its own, spoken to over its HTTP API, that a test may kill.

It is for what a process at a time in the test's own process cannot show: a crash, a restart on the
same data. Everything else is faster with `astrbot_host`.
"""

import asyncio
import json
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp

from .astrbot_root import PASSWORD, USER, AstrBotRoot

START_SECONDS = 60.0
STOP_SECONDS = 20.0
TURN_SECONDS = 90.0

_PAUSE_SECONDS = 0.1
_LOG_TAIL = 4000
# One line holds a whole tool result.
_LONGEST_LINE = 8 * 1024 * 1024


class AstrBotDied(RuntimeError):
    """AstrBot ended before it took requests; the text is the end of its log."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WebTurn:
    """What the WebUI's chat was sent for one message."""

    events: tuple[dict[str, Any], ...]

    @property
    def answer(self) -> str:
        """The text for the user, without tool calls and statistics."""
        return "".join(
            str(each["data"])
            for each in self.events
            if each.get("type") == "plain" and not each.get("chain_type")
        )


class AstrBotProcess:
    """One AstrBot on one root and port; it may be started again after it ended."""

    def __init__(self, root: AstrBotRoot) -> None:
        self._root = root
        self._port = _free_port()
        self._process: asyncio.subprocess.Process | None = None
        self._client: aiohttp.ClientSession | None = None

    @property
    def url(self) -> str:
        """The address of the WebUI."""
        return f"http://127.0.0.1:{self._port}"

    @property
    def log(self) -> str:
        """All that the process printed, over all its starts."""
        return self._log_path.read_text(encoding="utf-8", errors="replace")

    async def start(self) -> None:
        """Start AstrBot and log in, so that messages can be sent.

        Raises:
            AstrBotDied: The process ended by itself.
            TimeoutError: It took no requests in time.
        """
        with self._log_path.open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "astrbot.cli", "run", "--port", str(self._port)),
                cwd=self._root.path,
                env=self._environment(),
                stdout=log,
                stderr=asyncio.subprocess.STDOUT,
            )
        async with asyncio.timeout(START_SECONDS):
            token = await self._log_in()
        self._client = aiohttp.ClientSession(
            headers={"Authorization": f"Bearer {token}"}, read_bufsize=_LONGEST_LINE
        )

    async def new_chat(self) -> str:
        """Open a chat in the WebUI and return its id."""
        async with self._http.get(f"{self.url}/api/v1/chat/sessions/new") as response:
            reply = await response.json()
        return str(reply["data"]["session_id"])

    async def say(self, chat: str, text: str) -> WebTurn:
        """Send a message and wait for all that comes back."""
        async with asyncio.timeout(TURN_SECONDS):
            return WebTurn(events=tuple([event async for event in self.stream(chat, text)]))

    async def stream(self, chat: str, text: str) -> AsyncIterator[dict[str, Any]]:
        """Send a message and yield what comes back, as it comes.

        Raises:
            aiohttp.ClientError: The process ended in the middle.
        """
        body = {"session_id": chat, "message": [{"type": "plain", "text": text}]}
        async with self._http.post(f"{self.url}/api/v1/chat", json=body) as response:
            response.raise_for_status()
            async for line in response.content:
                if line.startswith(b"data:"):
                    yield json.loads(line.removeprefix(b"data:"))

    async def page(self, chat: str) -> list[str]:
        """The texts that the WebUI shows of the bot's messages when the chat is opened anew."""
        async with self._http.get(f"{self.url}/api/v1/chat/sessions/{chat}") as response:
            messages = (await response.json())["data"]["history"]
        bots = (each["content"] for each in messages if each["content"].get("type") == "bot")
        return ["".join(part.get("text") or "" for part in each["message"]) for each in bots]

    async def page_with(self, chat: str, text: str) -> list[str]:
        """Wait until the WebUI shows that text and return all that it shows of the bot then.

        Raises:
            TimeoutError: It did not come.
        """
        async with asyncio.timeout(TURN_SECONDS):
            while True:
                shown = await self.page(chat)
                if any(text in each for each in shown):
                    return shown
                # Another process has no event to wait for.
                await asyncio.sleep(_PAUSE_SECONDS)

    async def kill(self) -> None:
        """End the process at once, without any chance to tidy up."""
        if self._process is not None and self._process.returncode is None:
            self._process.kill()
        await self._ended()

    async def stop(self) -> None:
        """End the process as Ctrl-C does."""
        if self._process is not None and self._process.returncode is None:
            self._process.send_signal(signal.SIGINT)
            try:
                async with asyncio.timeout(STOP_SECONDS):
                    await self._process.wait()
            except TimeoutError:
                self._process.kill()
        await self._ended()

    @property
    def _log_path(self) -> Path:
        return self._root.path / "process.log"

    @property
    def _http(self) -> aiohttp.ClientSession:
        if self._client is None:
            raise RuntimeError("start() was not called")
        return self._client

    def _environment(self) -> dict[str, str]:
        own = {
            "ASTRBOT_ROOT": str(self._root.path),
            "ASTRBOT_DISABLE_METRICS": "1",
            "ASTRBOT_TEST_MODE": "true",
            "DASHBOARD_HOST": "127.0.0.1",
        }
        return {**os.environ, **own}

    async def _log_in(self) -> str:
        assert self._process is not None
        async with aiohttp.ClientSession() as client:
            while self._process.returncode is None:
                try:
                    return await self._token(client)
                except (aiohttp.ClientError, KeyError, TypeError):
                    # Another process has no event to wait for.
                    await asyncio.sleep(_PAUSE_SECONDS)
        raise AstrBotDied(self.log[-_LOG_TAIL:])

    async def _token(self, client: aiohttp.ClientSession) -> str:
        body = {"username": USER, "password": PASSWORD}
        async with client.post(f"{self.url}/api/v1/auth/login", json=body) as response:
            return str((await response.json())["data"]["token"])

    async def _ended(self) -> None:
        if self._process is not None:
            await self._process.wait()
        if self._client is not None:
            await self._client.close()
        self._client = None


@asynccontextmanager
async def running(root: AstrBotRoot) -> AsyncIterator[AstrBotProcess]:
    """Run AstrBot on a root that was written, and stop it in the end."""
    process = AstrBotProcess(root)
    try:
        await process.start()
        yield process
    finally:
        await process.stop()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
