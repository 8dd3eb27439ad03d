"""Plays the chat platform and the plugin's tools around the stand-in model of the demo."""

import json
from collections.abc import Mapping
from typing import Any, Literal

from docs_plugin.ranking import Index, sections_of
from standin.main_agent import MAX_ANSWERS
from standin.mind import respond
from standin.protocol import ChatReply, ChatRequest, ToolCall
from support.standin_tasks import results_of

DOCS = """# Guide
## Protecting
Call `protect_subagent` with its name.
## Time
When a run times out, it keeps its last text.
## Memory
A sub-agent remembers its first task.
"""
MANAGEMENT = (
    "create_subagent",
    "wait_for_subagent",
    "list_subagents",
    "protect_subagent",
    "search_project_docs",
)


class Host:
    """Plays the chat platform and the plugin's tools around the stand-in.

    Args:
        places: How many sub-agents may exist.
        early: Sub-agents that exist already.
        refused: Texts that tools answer with instead of doing their work, by tool name.
        unfinished: How many waits find the tasks still running.
        light: Offer tools without parameters first and ask again, as AstrBot's `skills_like` does.
        offers: `single`: one `transfer_to_subagent` for all agents; `task`: that tool beside those
            of each agent.
    """

    def __init__(
        self,
        *,
        places: int = 3,
        early: tuple[str, ...] = (),
        refused: Mapping[str, str] | None = None,
        unfinished: int = 0,
        light: bool = False,
        offers: Literal["", "single", "task"] = "",
    ) -> None:
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.model_calls = 0
        self._agents = dict.fromkeys(early, "")
        self._places = places
        self._refused = refused or {}
        self._unfinished = unfinished
        self._light = light
        self._single = offers == "single"
        self._tasks = offers == "task"
        self._results: dict[str, tuple[str, str]] = {}
        self._docs = Index(sections_of("docs/guide.md", DOCS))

    async def ask(self, text: str, *added: str) -> str:
        parts = [{"type": "text", "text": each} for each in (text, *added)]
        return await self.turn([{"role": "user", "content": parts}], main=True)

    def named(self, prefix: str) -> list[dict[str, Any]]:
        return [arguments for name, arguments in self.calls if name.startswith(prefix)]

    async def turn(
        self,
        messages: list[dict[str, Any]],
        *,
        main: bool,
        offered: tuple[str, ...] = ("search_project_docs",),
        system: str = "You help.",
    ) -> str:
        for _ in range(MAX_ANSWERS + 2):
            names = self._offered() if main else offered
            before = list(messages)
            self.model_calls += main
            reply = await self._model(messages, names, system)
            if not reply.tool_calls:
                return reply.text
            entries = [
                {
                    "id": each.id,
                    "type": "function",
                    "function": {"name": each.name, "arguments": each.arguments_text()},
                }
                for each in reply.tool_calls
            ]
            messages.append({"role": "assistant", "content": None, "tool_calls": entries})
            for each in reply.tool_calls:
                result = await self._tool(each, before, main=main)
                messages.append({"role": "tool", "tool_call_id": each.id, "content": result})
        raise AssertionError("the stand-in goes on and on")

    async def _model(
        self, messages: list[dict[str, Any]], names: tuple[str, ...], system: str
    ) -> ChatReply:
        reply = await respond(request(messages, names, system))
        if not self._light or not reply.tool_calls:
            return reply
        chosen = tuple(dict.fromkeys(each.name for each in reply.tool_calls))
        again = f"You have decided to call tool(s): {', '.join(chosen)}. Now call the tool(s)."
        extra = [{"role": "user", "content": again}, {"role": "user", "content": "<time>1</time>"}]
        return await respond(request([*messages, *extra], chosen, system))

    def _offered(self) -> tuple[str, ...]:
        tools = (*MANAGEMENT, "task") if self._tasks else MANAGEMENT
        if self._single:
            return (*tools, "transfer_to_subagent")
        return (*tools, *(f"transfer_to_{name}" for name in self._agents))

    async def _tool(self, call: ToolCall, before: list[dict[str, Any]], *, main: bool) -> str:
        assert isinstance(call.arguments, dict)
        arguments = call.arguments
        if main:
            self.calls.append((call.name, arguments))
        if call.name in self._refused:
            return self._refused[call.name]
        if call.name == "search_project_docs":
            found = self._docs.best(arguments["query"], arguments["limit"])
            blocks = (f"source: {each.source}\n{each.text}" for each in found)
            return "\n\n".join(blocks) or "nothing"
        if call.name == "task":
            return await results_of(arguments["tasks"], before, self._child)
        if call.name == "create_subagent":
            return self._create(arguments["name"])
        if call.name == "wait_for_subagent":
            return self._wait(arguments["task_id"])
        if call.name.startswith("transfer_to_"):
            return await self._transfer(call.name.removeprefix("transfer_to_"), arguments)
        return f"{call.name} is done."

    async def _child(
        self, messages: list[dict[str, Any]], tools: tuple[str, ...], system: str
    ) -> str:
        # what it calls and is told stays its own
        return await self.turn(list(messages), main=False, offered=tools, system=system)

    def _create(self, name: str) -> str:
        if name in self._agents:
            return f"Error: The name {name!r} is taken. Choose another name and call again."
        if len(self._agents) >= self._places:
            return f"Error: The limit of {self._places} sub-agents is reached."
        self._agents[name] = ""
        return f"Sub-agent {name} is ready."

    async def _transfer(self, name: str, arguments: dict[str, Any]) -> str:
        name = arguments["name"] if self._single else name
        if name not in self._agents:
            return f"Error: There is no sub-agent named {name!r}."
        task = f"t{len(self._results)}"
        child = [{"role": "user", "content": arguments["input"]}]
        self._results[task] = (name, await self.turn(child, main=False))
        if arguments["background_task"]:
            return f"task_id: {task}\nsub-agent: {name}\nstate: started"
        return self._report(task)

    def _report(self, task: str) -> str:
        name, result = self._results[task]
        return f"task_id: {task}\nsub-agent: {name}\nstate: completed\n<<result\n{result}\nresult>>"

    def _wait(self, tasks: list[str]) -> str:
        if self._unfinished > 0:
            self._unfinished -= 1
            return "\n".join(f"task_id: {each} | sub-agent: x | running" for each in tasks)
        return "\n\n".join(self._report(each) for each in tasks)


def request(
    messages: list[dict[str, Any]], tools: tuple[str, ...] = (), system: str = "You help."
) -> ChatRequest:
    offered = [
        {"type": "function", "function": {"name": each, "parameters": {"type": "object"}}}
        for each in tools
    ]
    payload = {
        "model": "offline-stand-in",
        "messages": [{"role": "system", "content": system}, *messages],
        "tools": offered,
    }
    return ChatRequest.parse(json.dumps(payload).encode())
