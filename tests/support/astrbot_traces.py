"""What a plugin can leave behind in an AstrBot, and the difference between two moments.

Import it only when `ASTRBOT_ROOT` is set: `astrbot_host` does so while it boots.
"""

import asyncio
import re
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Self

import psutil
from astrbot.core.provider.register import llm_tools
from astrbot.core.star.star import star_registry
from astrbot.core.star.star_handler import star_handlers_registry

# Threads kept for any work that comes, and those of open SQLite connections, AstrBot's own among
# them; a connection that a plugin left open shows as an open file.
_SHARED_THREADS = re.compile(r"asyncio_|ThreadPoolExecutor|.*_connection_worker_thread")


@dataclass(frozen=True, slots=True, kw_only=True)
class Traces:
    """Names of everything registered, running or open at one moment, with how many there are."""

    plugins: Counter[str]
    handlers: Counter[str]
    tools: Counter[str]
    web_apis: Counter[str]
    session_callbacks: Counter[str]
    """Functions that AstrBot calls when a chat is deleted; it offers no way to take one back."""
    modules: Counter[str]
    """Modules that were imported from the plugin folder."""
    tasks: Counter[str]
    """By coroutine and the file it is from."""
    threads: Counter[str]
    open_files: Counter[str]
    """In the folders below AstrBot's data folder."""

    @classmethod
    def take(cls, context: Any, data: Path) -> Self:
        """Take down the present moment.

        Args:
            context: AstrBot's context for plugins.
            data: AstrBot's data folder.
        """
        callbacks = getattr(context.conversation_manager, "_on_session_deleted_callbacks", [])
        return cls(
            plugins=Counter(str(each.name) for each in star_registry),
            handlers=Counter(each.handler_full_name for each in star_handlers_registry),
            tools=Counter(each.name for each in llm_tools.func_list),
            web_apis=Counter(f"{','.join(api[2])} {api[0]}" for api in context.registered_web_apis),
            session_callbacks=Counter(each.__qualname__ for each in callbacks),
            modules=Counter(each for each in sys.modules if each.startswith("data.plugins.")),
            tasks=Counter(_task_names()),
            threads=Counter(_thread_names()),
            open_files=Counter(_open_files(data)),
        )

    def since(self, earlier: Self) -> dict[str, list[str]]:
        """Return what is here and was not in an earlier moment; empty when nothing is."""
        grown = {
            each.name: sorted((getattr(self, each.name) - getattr(earlier, each.name)).elements())
            for each in fields(self)
        }
        return {name: names for name, names in grown.items() if names}


def _task_names() -> Iterator[str]:
    current = asyncio.current_task()
    for task in asyncio.all_tasks():
        code = getattr(task.get_coro(), "cr_code", None)
        if task is not current and code is not None:
            yield f"{code.co_qualname} in {code.co_filename}"


def _thread_names() -> Iterator[str]:
    for thread in threading.enumerate():
        if not _SHARED_THREADS.match(thread.name):
            yield re.sub(r"-\d+", "", thread.name)


def _open_files(data: Path) -> Iterator[str]:
    for file in psutil.Process().open_files():
        path = Path(file.path)
        # AstrBot's own databases lie in the data folder itself, a plugin's files below it.
        if path.is_relative_to(data) and path.parent != data:
            yield str(path.relative_to(data))
