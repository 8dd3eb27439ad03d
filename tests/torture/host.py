"""The host of a core that is killed: its children write items into a file, one call for each.

A child does what a careful model does: it goes on from the messages that were recorded, takes what
it is told of calls that were cut off for what it is, and looks before it repeats one whose outcome
is unknown. So an item that is written twice, or is missing, is the core's fault.
"""

import asyncio
import json
import random
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, override

from astrbot_plugin_subagents.manager.host import (
    AgentOutcome,
    AgentRequest,
    ModelReply,
    RunObserver,
    Started,
    ToolCall,
    ToolResult,
)
from astrbot_plugin_subagents.manager.models import MessageBody
from astrbot_plugin_subagents.manager.testing import ONE_CALL, FakeHost

from .traces import TURNS, WRITES, Traces, items_of_turn

LOOKS = "look"
"""The tool that only reads."""
_TOLD = re.compile(rf"^- {WRITES} (\{{.*?\}}): (outcome unknown|done)", re.MULTILINE)
_MODEL_SECONDS = (0.1, 0.5)
_TOOL_SECONDS = (0.0, 0.05)
_PACE = MappingProxyType({"ann": 0.3, "ben": 0.6})


class WritingHost(FakeHost):
    """Plays children that write."""

    def __init__(self, traces: Traces, chance: random.Random, *, slowness: float = 1.0) -> None:
        super().__init__(tools=(WRITES, LOOKS))
        self._traces = traces
        self._chance = chance
        self._slowness = slowness

    @override
    async def drive(self, request: AgentRequest, observer: RunObserver) -> AgentOutcome:
        """See `AgentDriver.drive`."""
        child = Child(request, observer, self._traces, self._chance, slowness=self._slowness)
        await observer.started(Started(provider_id="main", model="fake", tools=(WRITES, LOOKS)))
        if not request.resume:
            await observer.messages_added([{"role": "user", "content": request.prompt}])
        await child.look()
        for turn in range(1, TURNS + 1):
            await child.write(items_of_turn(request.run_id, turn))
        return AgentOutcome(text=await child.say(f"All is written by {request.run_id}."))


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call of a tool."""

    call_id: str
    """As the model gives it."""
    name: str
    arguments: dict[str, Any]

    def messages(self) -> dict[str, Any]:
        """The call within the message of the assistant."""
        function = {"name": self.name, "arguments": json.dumps(self.arguments)}
        return {"id": self.call_id, "type": "function", "function": function}


class Child:
    """One run in one life."""

    def __init__(
        self,
        request: AgentRequest,
        observer: RunObserver,
        traces: Traces,
        chance: random.Random,
        *,
        slowness: float,
    ) -> None:
        self._run_id = request.run_id
        self._observer = observer
        self._traces = traces
        self._chance = chance
        told = [(json.loads(each[1])["item"], each[2]) for each in _told_in(request.notes)]
        for item, outcome in told:
            traces.add("told", run=request.run_id, item=item, outcome=outcome)
        self._known = {*_recorded(request.resume), *(item for item, how in told if how == "done")}
        self._unknown = {item for item, how in told if how != "done"} - self._known
        # as with some providers, which use a tool's name as the id of each of its calls
        self._repeats_ids = sum(map(ord, request.run_id)) % 2 == 0
        # some end early, so that kills meet their results on the way
        self._pace = slowness * _PACE.get(request.agent or "", 1.0)
        self._count = 0

    async def look(self) -> None:
        """See what became of calls whose outcome is unknown."""
        if self._unknown:
            await self._step([self._call(LOOKS, {})])
            self._known |= self._traces.items_of(self._run_id) & self._unknown

    async def write(self, items: Sequence[str]) -> None:
        """Write what is not written yet, in one step."""
        if wanted := [item for item in items if item not in self._known]:
            await self._step([self._call(WRITES, {"item": item}) for item in wanted])

    async def say(self, text: str) -> str:
        """Answer."""
        await self._think(text)
        await self._observer.messages_added([{"role": "assistant", "content": text}])
        await self._observer.answered(text)
        return text

    def _call(self, name: str, arguments: dict[str, Any]) -> Call:
        self._count += 1
        unique = f"{self._traces.life}-{self._count}"
        return Call(call_id=name if self._repeats_ids else unique, name=name, arguments=arguments)

    async def _step(self, calls: Sequence[Call]) -> None:
        await self._think("")
        for number, call in enumerate(calls):
            again = self._repeats_ids and number > 0
            await self._use(call, f"{call.call_id}#{number + 1}" if again else call.call_id)
        messages: list[MessageBody] = [
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [call.messages() for call in calls],
            },
            *({"role": "tool", "tool_call_id": call.call_id, "content": "ok"} for call in calls),
        ]
        await self._observer.messages_added(messages)

    async def _use(self, call: Call, call_id: str) -> None:
        await self._observer.tool_started(
            ToolCall(
                call_id=call_id,
                name=call.name,
                arguments=json.dumps(call.arguments),
                read_only=call.name == LOOKS,
            )
        )
        await self._pause(_TOOL_SECONDS)
        if call.name == WRITES:
            self._traces.add("effects", run=self._run_id, **call.arguments)
        await self._pause(_TOOL_SECONDS)
        await self._observer.tool_finished(ToolResult(call_id=call_id, name=call.name, output="ok"))

    async def _think(self, text: str) -> None:
        await self._observer.before_model_call()
        await self._pause(_MODEL_SECONDS)
        await self._observer.model_replied(ModelReply(text=text, usage=ONE_CALL))

    async def _pause(self, seconds: tuple[float, float]) -> None:
        await asyncio.sleep(self._chance.uniform(*seconds) * self._pace)


def _told_in(notes: Iterable[str]) -> list[re.Match[str]]:
    return [found for note in notes for found in _TOLD.finditer(note)]


def _recorded(messages: Iterable[MessageBody]) -> set[str]:
    return {
        json.loads(call["function"]["arguments"])["item"]
        for message in messages
        for call in message.get("tool_calls") or ()
        if call["function"]["name"] == WRITES
    }
