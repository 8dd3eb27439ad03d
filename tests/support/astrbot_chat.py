"""A chat platform for AstrBot whose users and messages are made by a test.

Import it only when `ASTRBOT_ROOT` is set: `astrbot_host` does so while it boots. The adapter is an
ordinary one, registered and loaded as those of real platforms; a turn's end is told by the task
that AstrBot runs it in, so nothing has to be guessed or waited for by the clock.
"""

import asyncio
import uuid
from collections import defaultdict
from collections.abc import AsyncGenerator, Callable
from typing import Any

from astrbot.api.event import AstrMessageEvent, MessageChain
from astrbot.api.message_components import At, Plain
from astrbot.api.platform import (
    AstrBotMessage,
    MessageMember,
    MessageType,
    Platform,
    PlatformMetadata,
    register_platform_adapter,
)

from .astrbot_root import ADAPTER_ID, ADAPTER_TYPE
from .turn import Sent, Turn

_BOT = "the_bot"


class ChatEvent(AstrMessageEvent):
    """A user's message that keeps what the bot sends back."""

    def __init__(self, text: str, message: AstrBotMessage, meta: PlatformMetadata) -> None:
        super().__init__(text, message, meta, message.session_id)
        self.sent: list[Sent] = []
        self.turn: asyncio.Future[Turn] = asyncio.get_running_loop().create_future()

    async def send(self, message: MessageChain) -> None:
        """Keep a message of the bot."""
        self.sent.append(as_sent(message))
        await super().send(message)

    async def send_streaming(
        self, generator: AsyncGenerator[MessageChain, None], use_fallback: bool = False
    ) -> None:
        """Keep a streamed message of the bot; a break in the stream starts a new one."""
        pieces: list[Sent] = []
        async for piece in generator:
            if piece.type == "break":
                self._keep_stream(pieces)
                pieces = []
            else:
                # At once: AstrBot uses the same object for the next piece.
                pieces.append(as_sent(piece))
        self._keep_stream(pieces)
        await super().send_streaming(generator, use_fallback)

    def cleanup_temporary_local_files(self) -> None:
        """Ask for the end of the task that ran the turn: AstrBot calls this as its last step."""
        super().cleanup_temporary_local_files()
        task = asyncio.current_task()
        if task is not None and not self.turn.done():
            # Behind the callbacks that plugins added before, so their end of a turn comes first.
            task.add_done_callback(self._end)

    def _keep_stream(self, pieces: list[Sent]) -> None:
        if pieces:
            texts = tuple(piece.text for piece in pieces)
            chain = tuple(part for piece in pieces for part in piece.chain)
            self.sent.append(Sent(text="".join(texts), chain=chain, streamed=texts))

    def _was_stopped(self) -> bool:
        # AstrBot 4.26 notes a stop as done only when it comes well before the model's answer.
        notes = ("agent_user_aborted", "agent_stop_requested")
        return self.is_stopped() or any(self.get_extra(each) for each in notes)

    def _end(self, task: asyncio.Task[None]) -> None:
        if self.turn.done():
            return
        turn = Turn(
            sent=tuple(self.sent),
            event=self,
            stopped=self._was_stopped(),
            cancelled=task.cancelled(),
            error=None if task.cancelled() else task.exception(),
        )
        self.turn.set_result(turn)


@register_platform_adapter(ADAPTER_TYPE, "The chat of the tests.", {"id": ADAPTER_ID})
class ChatPlatform(Platform):
    """The adapter: it brings users' messages in and keeps messages that answer to none."""

    def __init__(self, config: dict[str, Any], settings: dict[str, Any], queue: Any) -> None:
        super().__init__(config, queue)
        self.mailboxes: dict[str, list[Sent]] = defaultdict(list)
        """By `unified_msg_origin`: messages that the bot sent on its own."""
        self.mail = asyncio.Condition()
        self.refuses: Callable[[Sent], bool] = lambda _: False
        """Which of those messages cannot be sent."""
        self.ready = asyncio.Event()
        """Set when AstrBot is up; see `astrbot_host`."""
        self._stopped = asyncio.Event()

    async def run(self) -> None:
        """Stay until AstrBot stops the adapter; messages come from `post`."""
        await self._stopped.wait()

    async def terminate(self) -> None:
        """Let `run` end."""
        self._stopped.set()

    def meta(self) -> PlatformMetadata:
        """Describe the adapter."""
        return PlatformMetadata(name=ADAPTER_TYPE, description="Tests", id=self.config["id"])

    async def send_by_session(self, session: Any, message_chain: MessageChain) -> None:
        """Keep a message that the bot sent on its own."""
        sent = as_sent(message_chain)
        if self.refuses(sent):
            raise ConnectionError("the platform does not take the message")
        async with self.mail:
            self.mailboxes[str(session)].append(sent)
            self.mail.notify_all()
        await super().send_by_session(session, message_chain)

    def post(
        self, text: str, *, session: str, sender: str, group: str | None, streaming: bool | None
    ) -> ChatEvent:
        """Bring in a user's message, in a group addressed to the bot."""
        event = ChatEvent(text, _message(text, session, sender, group), self.meta())
        if streaming is not None:
            event.set_extra("enable_streaming", streaming)
        self.commit_event(event)
        return event


def as_sent(message: MessageChain) -> Sent:
    """Take down a message of the bot as it is now."""
    kind = message.type if isinstance(message.type, str) else None
    return Sent(text=message.get_plain_text(), chain=tuple(message.chain), kind=kind)


def _message(text: str, session: str, sender: str, group: str | None) -> AstrBotMessage:
    message = AstrBotMessage()
    message.type = MessageType.GROUP_MESSAGE if group else MessageType.FRIEND_MESSAGE
    message.self_id = _BOT
    message.session_id = group or session
    message.message_id = uuid.uuid4().hex
    message.sender = MessageMember(user_id=sender, nickname=sender)
    message.message = [At(qq=_BOT), Plain(text)] if group else [Plain(text)]
    message.message_str = text
    message.raw_message = text
    if group:
        message.group_id = group
    return message
