"""A chat platform that does not take what the bot sends on its own, or is not there at all."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from .astrbot_host import Bot
from .astrbot_root import ADAPTER_ID
from .turn import Sent


@contextmanager
def refusing(bot: Bot, matches: Callable[[Sent], bool], *, times: int) -> Iterator[list[Sent]]:
    """Let the platform refuse the first messages that match, so many times; they are yielded."""
    chat = bot.context.get_platform_inst(ADAPTER_ID)
    refused: list[Sent] = []

    def refuses(sent: Sent) -> bool:
        if len(refused) == times or not matches(sent):
            return False
        refused.append(sent)
        return True

    before, chat.refuses = chat.refuses, refuses
    try:
        yield refused
    finally:
        chat.refuses = before


@contextmanager
def switched_off(bot: Bot) -> Iterator[None]:
    """Let the owner switch the platform's adapter off for a while."""
    adapters = bot.context.platform_manager.platform_insts
    chat = bot.context.get_platform_inst(ADAPTER_ID)
    adapters.remove(chat)
    try:
        yield
    finally:
        adapters.append(chat)
