"""Single requests to the stand-in: as a sub-agent, for a title, and without any tool."""

import json
from typing import Any

from standin.mind import respond
from standin.protocol import ChatRequest


def request(
    messages: list[dict[str, Any]], tools: tuple[str, ...] = (), system: str = "You help."
) -> ChatRequest:
    payload = {
        "model": "offline-stand-in",
        "messages": [{"role": "system", "content": system}, *messages],
        "tools": [{"type": "function", "function": {"name": each}} for each in tools],
    }
    return ChatRequest.parse(json.dumps(payload).encode())


async def test_a_sub_agent_says_when_it_found_nothing() -> None:
    user = {"role": "user", "content": "zebra stripes"}
    search = await respond(request([user], ("search_project_docs",)))
    calls = [
        {"id": "1", "function": {"name": "search_project_docs", "arguments": "{}"}},
    ]
    told: list[dict[str, Any]] = [
        user,
        {"role": "assistant", "tool_calls": calls},
        {"role": "tool", "tool_call_id": "1", "content": "No section holds any of the words."},
    ]

    answer = await respond(request(told, ("search_project_docs",)))

    assert search.tool_calls[0].arguments == {"query": "zebra stripes", "limit": 4}
    assert answer.text.startswith("Nothing found for: zebra stripes")


async def test_the_title_of_a_chat_is_the_beginning_of_its_question() -> None:
    system = "You are a conversation title generator. Generate a concise title."

    async def title(query: str) -> str:
        text = f"Generate a title:\n<user_query>\n{query}\n</user_query>"
        return (await respond(request([{"role": "user", "content": text}], (), system))).text

    assert await title("What is memory?") == "What is memory?"
    assert (
        await title("How do I protect a sub-agent, and what happens?")
        == "How do I protect a sub-agent, and what..."
    )
    assert await title("hello") == "<None>"


async def test_a_request_without_tools_gets_an_honest_answer() -> None:
    answer = await respond(request([{"role": "user", "content": "Summarise this chat."}]))

    assert "no tools" in answer.text
    assert "offline stand-in" in answer.text
