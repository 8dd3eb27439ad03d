"""AstrBot's own web chat: when a message of ours would be lost from its page, and how to wait.

In 4.26 a reply that is sent while an earlier answer is still being read by the page is put behind
the end of that answer, where nobody looks (core/platform/sources/webchat/webchat_adapter.py).
"""

import asyncio
import sys
from typing import Any

from astrbot.core.platform.message_session import MessageSession

from ..manager.models import SessionId

_QUEUES = "astrbot.core.platform.sources.webchat.webchat_queue_mgr"
_MOST_SECONDS = 10.0
_LOOK_SECONDS = 0.1


async def until_page_is_free(session: SessionId) -> None:
    """Wait until no answer is being read by the page of a web chat; other chats wait for nothing.

    AstrBot tells nobody when that comes about, so it is looked at; not for long, since a page that
    was left open may never read to the end.
    """
    queues = _queues_of(session)
    if queues is None:
        return
    conversation = MessageSession.from_str(session).session_id.rsplit("!", 1)[-1]
    try:
        async with asyncio.timeout(_MOST_SECONDS):
            while _is_read(queues, conversation):  # noqa: ASYNC110 - nobody tells when
                await asyncio.sleep(_LOOK_SECONDS)
    except TimeoutError:
        return


def _queues_of(session: SessionId) -> Any:
    if MessageSession.from_str(session).platform_id != "webchat":
        return None
    return vars(sys.modules.get(_QUEUES, sys)).get("webchat_queue_mgr")


def _is_read(queues: Any, conversation: str) -> bool:
    ids = queues.list_back_request_ids(conversation)
    return any(not str(each).startswith("ws_sub_") for each in ids)
