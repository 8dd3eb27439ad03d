"""A code base far larger than a model's window, read in parts by sub-agents and summed up by one.

Every line of the code base names its part, so that what any model was sent shows whose it was.
"""

import json
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from standin.protocol import ChatReply, ChatRequest
from support.astrbot_host import Bot
from support.host_agents import plugin_config
from support.replies import call, calls, say
from support.script import Script, tool_results

pytestmark = [pytest.mark.host, pytest.mark.asyncio(loop_scope="session")]

PARTS = 6
LINES = 2_600
PIECE = 30_000
"""Characters that one call of the reading tool gives."""
WINDOW = 32_000
"""Tokens that the model takes."""
CHARACTERS_PER_TOKEN = 4
LINE = re.compile(r"def part(\d)_f(\d+)\(")

READER = f"""
from pathlib import Path

from astrbot.api import FunctionTool
from astrbot.api.star import Star

class ReadCode(FunctionTool):
    def __init__(self, star):
        text, number = {{"type": "string"}}, {{"type": "integer"}}
        super().__init__(
            name="read_code",
            description="Read a piece of a file of the code base.",
            parameters={{
                "type": "object",
                "properties": {{"file": text, "offset": number}},
                "required": ["file", "offset"],
            }},
        )
        self.star = star

    async def call(self, context, file, offset):
        text = Path(self.star.folder, file).read_text()
        return text[offset:offset + {PIECE}] or "END OF FILE"

class Reader(Star):
    async def initialize(self):
        self.folder = ""
        self.context.add_llm_tools(ReadCode(self))
"""


@pytest_asyncio.fixture(loop_scope="session")
async def code_base(bot: Bot, tmp_path: Path) -> AsyncIterator[int]:
    """Install the reading tool over a fresh code base; how many characters it has."""
    star = await bot.plugins.add("test_reader", READER)
    star.folder = str(tmp_path)
    size = 0
    for part in range(PARTS):
        lines = [f"def part{part}_f{number}(): return {number}" for number in range(LINES)]
        size += tmp_path.joinpath(f"part{part}.py").write_text("\n".join(lines))
    provider = bot.context.get_all_providers()[0].provider_config
    usual, provider["max_context_tokens"] = provider["max_context_tokens"], WINDOW
    async with plugin_config(bot, dynamic_agents={"max_dynamic_subagent_count": PARTS + 1}):
        yield size
    provider["max_context_tokens"] = usual
    await bot.plugins.uninstall("test_reader")


def make(name: str, tools: list[str]) -> tuple[str, dict[str, Any]]:
    return "create_subagent", {"name": name, "system_prompt": f"You are {name}.", "tools": tools}


def read_on(request: ChatRequest) -> ChatReply:
    """Read the file of the task piece by piece; at its end say how many functions it has."""
    (file,) = set(re.findall(r"part\d\.py", json.dumps(request.messages[1])))
    pieces = tool_results(request)
    if not pieces or "END OF FILE" not in pieces[-1]:
        return call("read_code", {"file": file, "offset": len(pieces) * PIECE})
    return say(f"{file} has {len(set(LINE.findall(''.join(pieces))))} functions.")


def merge(request: ChatRequest) -> ChatReply:
    """Add up what the summaries in the task say."""
    numbers = re.findall(r"part\d\.py has (\d+) functions", json.dumps(request.messages))
    return say(f"{len(numbers)} files, {sum(map(int, numbers))} functions in all.")


def give_summaries(request: ChatRequest) -> ChatReply:
    """Hand on the sentences of the readers and nothing else."""
    said = re.findall(r"part\d\.py has \d+ functions\.", tool_results(request)[-1])
    return call("transfer_to_merger", {"input": "Add up: " + " ".join(said)})


def tell_total(request: ChatRequest) -> ChatReply:
    (total,) = re.findall(r"\d+ files, \d+ functions in all\.", tool_results(request)[-1])
    return say(total)


async def test_a_code_base_is_read_in_parts_and_the_main_agents_context_stays_small(
    bot: Bot, model: Script, code_base: int
) -> None:
    readers = [f"reader{part}" for part in range(PARTS)]
    assert code_base / CHARACTERS_PER_TOKEN > 3 * WINDOW
    model.main(
        calls(*(make(name, ["read_code"]) for name in readers), make("merger", [])),
        calls(
            *(
                (f"transfer_to_{name}", {"input": f"Count part{at}.py", "background_task": True})
                for at, name in enumerate(readers)
            )
        ),
        call("wait_for_subagent", {"subagent_name": readers}),
        give_summaries,
        tell_total,
    )
    for name in readers:
        model.child(name, then=read_on)
    model.child("merger", merge)

    turn = await bot.say("How many functions has the code base?")

    assert turn.answer == f"{PARTS} files, {PARTS * LINES} functions in all."
    for at, name in enumerate(readers):
        asked = model.requests_of(name)
        assert {part for r in asked for part, _ in LINE.findall(r.raw.decode())} == {str(at)}
    for role in ("main", "merger"):
        assert [LINE.findall(request.raw.decode()) for request in model.requests_of(role)] == (
            [[]] * len(model.requests_of(role))
        )
    last = model.requests_of("main")[-1]
    assert len(last.raw) / CHARACTERS_PER_TOKEN < WINDOW / 4
    assert len(json.dumps(last.messages)) < 16_000
    assert len(model.requests_of("merger")[0].raw) < 4_000
    assert bot.errors == []
