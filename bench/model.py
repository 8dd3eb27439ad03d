"""The model of the benchmark: a scripted server in a process of its own.

It plays a main agent that makes the tool calls its user names and then answers, and a child that
calls a tool in each step but the last. An answer takes the same time whatever it is; those in W2's
tasks have a time of their own. It imports no AstrBot.
"""

import asyncio
import json
import sys
from dataclasses import dataclass
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "demo"))

from standin.protocol import ChatReply, ChatRequest, ToolCall, message_text
from standin.server import ChatServer

CHILD_MARK = "You measure things for the benchmark."
"""In the system prompt of every child."""
TASK_MARK = "Measure this side by side."
"""How the tasks of W2 begin, whoever carries them out."""
LOOKUP = "bench_lookup"
FOUND = "The value is 42."
"""What a child answers, and a main agent that has read it."""
CHILD_CALLS = 3
"""Model calls of one child: two with a tool call, one with the answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Delays:
    """How long answers take."""

    seconds: float
    task_seconds: float
    """In the tasks of W2."""


def answer(request: ChatRequest, delays: Delays) -> ChatReply:
    """One answer: the next tool call of this conversation, or its end."""
    if _user_text(request).startswith(TASK_MARK):
        return _child(request, delays.task_seconds)
    if CHILD_MARK in request.system_text():
        return _child(request, delays.seconds)
    return _main(request, delays.seconds)


def _child(request: ChatRequest, delay_seconds: float) -> ChatReply:
    done = _tool_results_of_this_task(request)
    if done < CHILD_CALLS - 1:
        call = ToolCall(id=f"c{done}", name=LOOKUP, arguments={"key": f"k{done}"})
        return ChatReply(tool_calls=(call,), delay_seconds=delay_seconds)
    return ChatReply(text=FOUND, delay_seconds=delay_seconds)


def _main(request: ChatRequest, delay_seconds: float) -> ChatReply:
    """The user's message is a JSON list of steps, each a list of calls made in one answer."""
    done = _tool_results_of_this_task(request)
    for step in json.loads(_user_text(request)):
        if done < len(step):
            calls = tuple(
                ToolCall(id=f"m{done}_{at}", name=name, arguments=arguments)
                for at, (name, arguments) in enumerate(step)
            )
            return ChatReply(tool_calls=calls, delay_seconds=delay_seconds)
        done -= len(step)
    found = message_text(request.messages[-1])
    return ChatReply(text=FOUND if FOUND in found else "Done.", delay_seconds=delay_seconds)


def _user_text(request: ChatRequest) -> str:
    content = next(m["content"] for m in reversed(request.messages) if m["role"] == "user")
    if isinstance(content, str):
        return content
    # the user's own words come first, notes of plugins after them
    return str(content[0]["text"])


def _tool_results_of_this_task(request: ChatRequest) -> int:
    count = 0
    for message in reversed(request.messages):
        if message["role"] == "user":
            break
        count += message["role"] == "tool"
    return count


async def serve(delays: Delays) -> None:
    """Serve until standard input ends; the address is the first line of output."""

    async def respond(request: ChatRequest) -> ChatReply:
        return answer(request, delays)

    async with ChatServer(respond, keep_requests=1) as server:
        print(server.base_url, flush=True)
        await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(serve(Delays(seconds=float(sys.argv[1]), task_seconds=float(sys.argv[2]))))
