"""The model of the benchmark: a scripted server in a process of its own.

It plays a main agent that hands over one task and then answers, and a child that calls a tool
in each step but the last. Every answer takes the same time. It imports no AstrBot.
"""

import asyncio
import json
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "demo"))

from standin.protocol import ChatReply, ChatRequest, ToolCall, message_text
from standin.server import ChatServer

CHILD_MARK = "You measure things for the benchmark."
"""In the system prompt of every child."""
LOOKUP = "bench_lookup"
FOUND = "The value is 42."
"""What a child answers, and a main agent that has read it."""
CHILD_CALLS = 3
"""Model calls of one child: two with a tool call, one with the answer."""


def answer(request: ChatRequest, delay_seconds: float) -> ChatReply:
    """One answer: the next tool call of this conversation, or its end."""
    if CHILD_MARK in request.system_text():
        return _child(request, delay_seconds)
    return _main(request, delay_seconds)


def _child(request: ChatRequest, delay_seconds: float) -> ChatReply:
    done = _tool_results_of_this_task(request)
    if done < CHILD_CALLS - 1:
        call = ToolCall(id=f"c{done}", name=LOOKUP, arguments={"key": f"k{done}"})
        return ChatReply(tool_calls=(call,), delay_seconds=delay_seconds)
    return ChatReply(text=FOUND, delay_seconds=delay_seconds)


def _main(request: ChatRequest, delay_seconds: float) -> ChatReply:
    """The user's message is a JSON list of tool calls, which are made one in each step."""
    wanted = json.loads(_user_text(request))
    done = _tool_results_of_this_task(request)
    if done < len(wanted):
        call = ToolCall(id=f"m{done}", name=wanted[done][0], arguments=wanted[done][1])
        return ChatReply(tool_calls=(call,), delay_seconds=delay_seconds)
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


async def serve(delay_seconds: float) -> None:
    """Serve until standard input ends; the address is the first line of output."""

    async def respond(request: ChatRequest) -> ChatReply:
        return answer(request, delay_seconds)

    async with ChatServer(respond, keep_requests=1) as server:
        print(server.base_url, flush=True)
        await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(serve(float(sys.argv[1])))
