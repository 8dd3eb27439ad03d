"""A real AstrBot in this process, with a chat that tests write in.

`boot` starts the only AstrBot that a process can have: AstrBot reads its root folder when it is
imported. So nothing here, and no test module, imports AstrBot at its top; `boot` does it, after
it has set the root. `Bot` is what tests talk to.
"""

import asyncio
import copy
import gc
import importlib
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from .astrbot_plugins import Plugins
from .astrbot_root import ADAPTER_ID, PLUGIN_NAME, AstrBotRoot, merge, overwrite
from .turn import Sent, Turn

if TYPE_CHECKING:
    from .astrbot_traces import Traces

BOOT_SECONDS = 90.0
TURN_SECONDS = 90.0

_PROFILE = "default"


# Tells when AstrBot is up: of all hooks that run then, this one comes last.
_READY_PLUGIN = "test_ready"
_READY_SOURCE = f'''
from astrbot.api.event import filter
from astrbot.api.star import Star

class Ready(Star):
    @filter.on_astrbot_loaded(priority=-1000)
    async def tell(self):
        for platform in self.context.platform_manager.get_insts():
            if platform.meta().id == "{ADAPTER_ID}":
                platform.ready.set()
'''


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingTurn:
    """A message that was sent and may still be worked on."""

    event: Any

    @property
    def sent(self) -> Sequence[Sent]:
        """What the bot sent so far."""
        return tuple(self.event.sent)

    async def done(self, seconds: float = TURN_SECONDS) -> Turn:
        """Wait until AstrBot is done with the turn.

        Raises:
            TimeoutError: It took longer.
        """
        async with asyncio.timeout(seconds):
            # Shielded: a test that waited too little may wait again.
            turn: Turn = await asyncio.shield(self.event.turn)
            return turn


class Bot:
    """The running AstrBot as tests see it."""

    def __init__(self, lifecycle: Any, root: AstrBotRoot, main_task: asyncio.Task[None]) -> None:
        self.root = root
        self.lifecycle = lifecycle
        self.context = lifecycle.star_context
        self.plugins = Plugins(lifecycle.plugin_manager, root)
        self.booted_with_plugin = (root.plugins / PLUGIN_NAME).is_dir()
        self.errors: list[str] = []
        """What AstrBot and its plugins logged as an error, tracebacks included."""
        self.session = "chat"
        """The chat that is meant when a test names none."""
        self._main_task = main_task
        self._settings = root.settings
        self._boot_config = copy.deepcopy(dict(lifecycle.astrbot_config))
        self._chat = _chat_platform(lifecycle)
        # AstrBot sends all logging through loguru, that of its plugins too.
        self._log = importlib.import_module("loguru").logger
        self._error_sink = self._log.add(self._keep_error, level="ERROR", format="{message}")

    def post(
        self,
        text: str,
        *,
        session: str | None = None,
        sender: str = "alice",
        group: str | None = None,
        streaming: bool | None = None,
    ) -> PendingTurn:
        """Send a user's message and do not wait.

        Args:
            text: What the user writes.
            session: The private chat; None means the test's own. It plays no part in a group.
            sender: The user; `astrbot_root.ADMIN` is an admin of the bot.
            group: The group chat to write in, addressed to the bot; None means a private chat.
            streaming: Whether the answer is streamed; None means as configured.
        """
        chat = session or self.session
        event = self._chat.post(text, session=chat, sender=sender, group=group, streaming=streaming)
        return PendingTurn(event=event)

    async def say(self, text: str, **how: Any) -> Turn:
        """Send a user's message and wait for the whole turn; see `post` for the arguments."""
        return await self.post(text, **how).done()

    def umo(self, session: str | None = None, *, group: str | None = None) -> str:
        """Return AstrBot's id of a chat."""
        kind = "GroupMessage" if group else "FriendMessage"
        return f"{ADAPTER_ID}:{kind}:{group or session or self.session}"

    async def history(
        self, session: str | None = None, *, group: str | None = None
    ) -> list[dict[str, Any]]:
        """Return the stored messages of the chat's current conversation."""
        umo = self.umo(session, group=group)
        manager = self.context.conversation_manager
        conversation_id = await manager.get_curr_conversation_id(umo)
        if not conversation_id:
            return []
        conversation = await manager.get_conversation(umo, conversation_id)
        messages: list[dict[str, Any]] = json.loads(conversation.history) if conversation else []
        return messages

    async def mail(
        self, count: int = 1, *, session: str | None = None, group: str | None = None
    ) -> list[Sent]:
        """Wait until the bot has sent that many messages of its own accord; return them all.

        Raises:
            TimeoutError: They did not come.
        """
        box: list[Sent] = self._chat.mailboxes[self.umo(session, group=group)]
        async with asyncio.timeout(TURN_SECONDS), self._chat.mail:
            await self._chat.mail.wait_for(lambda: len(box) >= count)
        return list(box)

    async def configure(self, **changes: Any) -> None:
        """Change AstrBot's settings for the turns that start from now on.

        Args:
            changes: Fields of `HostSettings`; the others stay as they are.
        """
        self._settings = replace(self._settings, **changes)
        merge(self.lifecycle.astrbot_config, self._settings.as_config())
        await self.lifecycle.reload_pipeline_scheduler(_PROFILE)

    async def restore(self) -> None:
        """Take back what `configure` changed."""
        if self._settings != self.root.settings:
            self._settings = self.root.settings
            overwrite(self.lifecycle.astrbot_config, self._boot_config)
            await self.lifecycle.reload_pipeline_scheduler(_PROFILE)

    def registered(self) -> "Traces":
        """Return names of everything that plugins can leave behind, as it is now."""
        traces = importlib.import_module(".astrbot_traces", __package__)
        taken: Traces = traces.Traces.take(self.context, self.root.data)
        return taken

    async def stop(self) -> None:
        """Stop AstrBot and end what it left running."""
        self._log.remove(self._error_sink)
        await self.lifecycle.stop()
        await asyncio.gather(self._main_task, return_exceptions=True)
        # AstrBot leaves some tasks behind, such as a download of model data.
        left = asyncio.all_tasks() - {asyncio.current_task()}
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)

    def _keep_error(self, message: Any) -> None:
        self.errors.append(str(message))


async def boot(root: AstrBotRoot) -> Bot:
    """Start AstrBot on a root that was written, and wait until it takes messages.

    Raises:
        RuntimeError: This process already had an AstrBot, or a plugin did not load.
    """
    if "astrbot" in sys.modules:
        raise RuntimeError("AstrBot was imported before its root was set; one root per process")
    os.environ["ASTRBOT_ROOT"] = str(root.path)
    os.environ["ASTRBOT_DISABLE_METRICS"] = "1"
    sys.path.insert(0, str(root.path))
    # A plugin that a test replaces within a second must not be taken from old bytecode.
    sys.dont_write_bytecode = True

    root.add_plugin(_READY_PLUGIN, _READY_SOURCE)

    core = importlib.import_module("astrbot.core")
    importlib.import_module(".astrbot_chat", __package__)
    lifecycle_class = importlib.import_module("astrbot.core.core_lifecycle").AstrBotCoreLifecycle
    lifecycle = lifecycle_class(core.LogBroker(), core.db_helper)
    await lifecycle.initialize()
    main_task = asyncio.create_task(lifecycle.start(), name="astrbot")
    bot = Bot(lifecycle, root, main_task)
    bot.plugins.check()
    async with asyncio.timeout(BOOT_SECONDS):
        await _chat_platform(lifecycle).ready.wait()
        await _end_of_download()
    # What AstrBot is made of stays as it is; looking through it again and again takes half a second
    # each time, and a test that loads the plugin anew causes several.
    gc.collect()
    gc.freeze()
    # It has been checked that they are there; each reload would read about all packages again.
    (root.plugins / PLUGIN_NAME / "requirements.txt").unlink(missing_ok=True)
    return bot


async def _end_of_download() -> None:
    # AstrBot fetches data on models when it starts. That fails here, and it is done with it before
    # the first test looks at tasks and errors.
    for task in asyncio.all_tasks():
        if getattr(task.get_coro(), "__name__", "") == "update_llm_metadata":
            await asyncio.wait([task])


def _chat_platform(lifecycle: Any) -> Any:
    platforms = lifecycle.platform_manager.get_insts()
    return next(each for each in platforms if each.meta().id == ADAPTER_ID)
