"""Children that ask: by the text of their task they ask, hang or just say something."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import Any

from astrbot_plugin_subagents.manager.events import ToolFinished
from astrbot_plugin_subagents.manager.host import AgentRequest
from astrbot_plugin_subagents.manager.testing import Act, Use

from . import core
from .bringing import Stage, a_stage
from .task_calls import Crew, own_text

QUESTION = "Red or blue?"


def a_question(text: str, options: Sequence[str] = ()) -> dict[str, Any]:
    """The arguments of a child's call."""
    return {"question": text, "options": list(options)}


class Asking(Crew):
    """Children whose task says what they do: `hang`, `ask`, `wait`, then they are done.

    Attributes:
        asks: The arguments of their call of `ask_question`.
        waits: What those wait for in a tool that may take as long as it likes.
    """

    def __init__(self, asks: Mapping[str, Any]) -> None:
        super().__init__()
        self.asks = json.dumps(asks)
        self.waits = asyncio.Event()

    def script(self, request: AgentRequest) -> Sequence[Act]:
        """What the child of a request does."""
        text = own_text(request)
        hang, end = super().script(request)
        asks = (Use(tool="ask_question", arguments=self.asks),) if "ask" in text else ()
        waits = (Use(tool="search", gate=self.waits, limited=False),) if "wait" in text else ()
        return (*((hang,) if "hang" in text else ()), *asks, *waits, end)


async def asking(
    make_core: core.MakeCore, *, question: Mapping[str, Any] | None = None, **more: Any
) -> Stage:
    """A chat whose children ask."""
    crew = Asking(a_question(QUESTION) if question is None else question)
    return await a_stage(make_core, crew=crew, **more)


def answers_of(stage: Stage) -> list[str]:
    """What the children's calls of `ask_question` brought them."""
    return [
        event.output
        for event in stage.it.events
        if isinstance(event, ToolFinished) and event.name == "ask_question"
    ]


def ask_no_more(stage: Stage) -> None:
    """Let the children's further questions be refused at once."""
    assert isinstance(stage.crew, Asking)
    stage.crew.asks = "{}"
