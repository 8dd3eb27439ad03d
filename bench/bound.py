"""The bound: AstrBot's agent runner driven directly, the least that any plugin could cost."""

import copy
import importlib
from dataclasses import dataclass, replace
from typing import Any

from model import CHILD_MARK, LOOKUP

from support.astrbot_host import Bot
from support.astrbot_root import PROVIDER_ID

_MOST_STEPS = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """What a child's first model request holds."""

    system_prompt: str
    messages: tuple[dict[str, Any], ...]
    tools: tuple[Any, ...]
    """AstrBot's `FunctionTool`s."""


def plain_opening(bot: Bot, task: str) -> Opening:
    """A child with one tool and nothing but its task."""
    return Opening(
        system_prompt=CHILD_MARK,
        messages=({"role": "user", "content": task},),
        tools=(_lookup(bot),),
    )


def unguarded(bot: Bot, opening: Opening) -> Opening:
    """The same without AstrBot's permission guard around the tool that is called."""
    tools = (_lookup(bot) if tool.name == LOOKUP else tool for tool in opening.tools)
    return replace(opening, tools=tuple(tools))


class OpeningListener:
    """Takes down what the next child is sent that is driven by the plugin."""

    def __init__(self, bot: Bot, mark: str) -> None:
        """Begin to listen.

        Args:
            bot: The running AstrBot.
            mark: How the child's user turn begins.
        """
        self._mark = mark
        self._opening: Opening | None = None
        self._provider = bot.context.get_provider_by_id(PROVIDER_ID)
        self._ask = self._provider.text_chat
        self._provider.text_chat = self._listen

    def stop(self) -> Opening:
        """Stop to listen; what was heard."""
        del self._provider.text_chat
        assert self._opening is not None
        return self._opening

    async def _listen(self, **payload: Any) -> Any:
        if self._opening is None:
            self._opening = self._read(payload)
        return await self._ask(**payload)

    def _read(self, payload: dict[str, Any]) -> Opening | None:
        system, *rest = payload["contexts"]
        content = rest[-1]["content"]
        text = content if isinstance(content, str) else content[0]["text"]
        if not text.startswith(self._mark):
            return None
        return Opening(
            system_prompt=system["content"],
            messages=tuple(copy.deepcopy(rest)),
            tools=tuple(payload["func_tool"].tools),
        )


async def bare_run(bot: Bot, event: Any, opening: Opening) -> str:
    """Drive AstrBot's own runner directly.

    Args:
        bot: The running AstrBot.
        event: The event of any earlier turn, for the tools.
        opening: What the child begins with.
    """
    runners = importlib.import_module("astrbot.core.agent.runners.tool_loop_agent_runner")
    executor = importlib.import_module("astrbot.core.astr_agent_tool_exec")
    contexts = importlib.import_module("astrbot.core.astr_agent_context")
    hooks = importlib.import_module("astrbot.core.agent.hooks")
    entities = importlib.import_module("astrbot.core.provider.entities")
    tools = importlib.import_module("astrbot.core.agent.tool")
    tool_set = tools.ToolSet()
    # made with its tools, it would check each one's schema, which takes more time than a model call
    tool_set.tools.extend(opening.tools)
    runner = runners.ToolLoopAgentRunner()
    await runner.reset(
        provider=bot.context.get_provider_by_id(PROVIDER_ID),
        request=entities.ProviderRequest(
            contexts=copy.deepcopy(list(opening.messages)),
            system_prompt=opening.system_prompt,
            func_tool=tool_set,
        ),
        run_context=contexts.AgentContextWrapper(
            context=contexts.AstrAgentContext(context=bot.context, event=event),
            tool_call_timeout=120,
        ),
        tool_executor=executor.FunctionToolExecutor(),
        agent_hooks=hooks.BaseAgentRunHooks(),
        streaming=False,
    )
    async for _ in runner.step_until_done(_MOST_STEPS):
        pass
    return str(runner.get_final_llm_resp().completion_text)


def _lookup(bot: Bot) -> Any:
    return bot.context.get_llm_tool_manager().get_func(LOOKUP)
