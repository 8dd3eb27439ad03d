"""`/subagents`: what people of a chat see and do by commands.

In a group names and states are seen by all; the words of another's run, and stopping, steering or
removing what is another's, are an admin's. The core decides on that; here errors become texts.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from astrbot.api import logger
from astrbot.api.event import AstrMessageEvent

from ..manager import Asker, Run, RunState, SessionId, Sessions, StopReason, SubAgentManager
from ..manager.errors import AgentNotFound, RunNotFound, SubAgentError
from ..manager.names import name_key
from .asker import asker_of
from .command_texts import (
    agent_line,
    error_text,
    run_line,
    run_report,
    shortened,
    transcript_text,
)
from .languages import Languages
from .static_agents import StaticAgents

_LINES = 20
"""Agents, and tasks, of one answer."""
_NAME = 60
"""Characters of a name that somebody wrote."""
_OF_ONE = 5
"""Newest tasks of one agent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """One command of one user."""

    manager: SubAgentManager
    asker: Asker
    rest: str
    """What stands behind the verb."""
    say: Callable[..., str]
    """Makes a text in the chat's language: key and values."""

    def two(self) -> tuple[str, str]:
        """The first word behind the verb, and the rest."""
        return _first_word(self.rest)


class Commands:
    """Answers the commands."""

    def __init__(self, sessions: Sessions, static: StaticAgents, languages: Languages) -> None:
        self._sessions = sessions
        self._static = static
        self._languages = languages

    async def answer(self, event: AstrMessageEvent, line: str) -> str:
        """Carry a command out.

        Args:
            event: The message.
            line: What stands behind `/subagents`; "" lists.

        Returns:
            The answer for the chat.
        """
        session = SessionId(event.unified_msg_origin)
        say = _Speaker(self._languages, session)
        verb, rest = _first_word(line)
        handler = _VERBS.get(verb.lower() or "list")
        if handler is None:
            return say("command.unknown", verb=shortened(verb, _NAME), verbs=", ".join(_VERBS))
        try:
            manager = await self._sessions.open_here(session)
            if not manager.settings.enabled:
                return say("command.off")
            # before the first turn since a start nobody else has told the session of them
            manager.set_static(self._static.all())
            command = Command(manager=manager, asker=asker_of(event), rest=rest, say=say)
            return await handler(command)
        except SubAgentError as error:
            return error_text(error, say)
        except Exception:  # noqa: BLE001 - an edge: the chat is told, the log has the cause
            logger.exception("The command %r failed", line)
            return say("command.failed")


class _Speaker:
    def __init__(self, languages: Languages, session: SessionId) -> None:
        self._languages = languages
        self._session = session

    def __call__(self, key: str, /, **values: object) -> str:
        return self._languages.text(key, self._session, **values)


def after_command(event: AstrMessageEvent) -> str:
    """What stands behind the command in a message, in its own letters and spaces."""
    return _first_word(event.message_str)[1]


def _first_word(text: str) -> tuple[str, str]:
    """The first word of a text, and the rest; spaces of any kind part them."""
    first, *rest = [*text.split(maxsplit=1), ""]
    return first, rest[0].strip() if rest else ""


async def _list(command: Command) -> str:
    overview = await command.manager.overview()
    live = command.manager.runs.live()
    if not overview.agents and not live:
        return command.say("list.nothing")
    lines = [command.say("list.agents")] if overview.agents else []
    lines += [agent_line(status, command.say) for status in overview.agents[:_LINES]]
    if live:
        lines.append(command.say("list.tasks"))
        lines += [run_line(run, command.say) for run in live[:_LINES]]
    shown = overview.agents[:_LINES], live[:_LINES]
    if more := len(overview.agents) + len(live) - sum(map(len, shown)):
        lines.append(command.say("list.more", count=more))
    return "\n".join(lines)


async def _show(command: Command) -> str:
    name = command.rest
    if not name:
        return command.say("usage.show")
    try:
        run = await command.manager.reader.run(name, command.asker)
    except RunNotFound:
        return await _show_agent(command, name)
    return run_report(run, command.say)


async def _show_agent(command: Command, name: str) -> str:
    overview = await command.manager.overview()
    found = [each for each in overview.agents if name_key(each.config.name) == name_key(name)]
    if not found:
        return _unknown(command, name)
    newest = await command.manager.runs.of_agent(found[0].config.name)
    lines = [run_line(run, command.say) for run in newest[:_OF_ONE]]
    return "\n".join([agent_line(found[0], command.say), *lines])


def _unknown(command: Command, name: str) -> str:
    return command.say("unknown.name", name=shortened(name, _NAME))


async def _log(command: Command) -> str:
    if not command.rest:
        return command.say("usage.log")
    run = await command.manager.reader.run(command.rest, command.asker)
    bodies = await command.manager.reader.transcript(run)
    return transcript_text(run, bodies, command.say)


async def _stop(command: Command) -> str:
    wanted = command.rest
    if not wanted:
        return command.say("usage.stop")
    stopping = command.manager.stopping
    if wanted.lower() == "all":
        stopped = await stopping.stop_all_of(command.asker, StopReason.USER)
        return command.say("stop.nothing") if not stopped else _stopped(stopped, command)
    try:
        stopped = await stopping.stop(wanted, command.asker, StopReason.USER)
    except RunNotFound:
        try:
            stopped = await stopping.stop_agent(wanted, command.asker, StopReason.USER)
        except AgentNotFound:
            return _unknown(command, wanted)
    return _stopped(stopped, command) if stopped else command.say("stop.nothing")


def _stopped(runs: list[Run], command: Command) -> str:
    head = command.say("stop.done", count=sum(run.state is RunState.CANCELLED for run in runs))
    return "\n".join([head, *(run_line(run, command.say) for run in runs[:_LINES])])


async def _steer(command: Command) -> str:
    task_id, text = command.two()
    if not text:
        return command.say("usage.steer")
    run = await command.manager.guiding.steer(task_id, text, command.asker)
    return command.say("steer.done", task_id=run.run_id)


async def _answer(command: Command) -> str:
    task_id, text = command.two()
    if not text:
        return command.say("usage.answer")
    run = await command.manager.answer(task_id, text, command.asker)
    return command.say("answer.done", name=run.agent or run.run_id)


async def _retry(command: Command) -> str:
    if not command.rest:
        return command.say("usage.retry")
    run = await command.manager.guiding.retry(command.rest, command.asker)
    return command.say("retry.done", task_id=run.run_id)


async def _remove(command: Command) -> str:
    if not command.rest:
        return command.say("usage.remove")
    config = await command.manager.remove(command.rest, command.asker)
    return command.say("remove.done", name=config.name)


async def _memory(command: Command) -> str:
    return await _switch(command, "memory", command.manager.steering.switch_memory)


async def _board(command: Command) -> str:
    return await _switch(command, "board", command.manager.steering.switch_board)


async def _switch(command: Command, what: str, switch: Callable[..., Awaitable[None]]) -> str:
    wanted = {"on": True, "off": False}.get(command.rest.lower())
    if wanted is None:
        return command.say(f"usage.{what}")
    await switch(wanted, command.asker, private=command.asker.is_alone)
    return command.say(f"{what}.{command.rest.lower()}")


async def _help(command: Command) -> str:
    return command.say("help")


_VERBS: Mapping[str, Callable[[Command], Awaitable[str]]] = MappingProxyType(
    {
        "list": _list,
        "show": _show,
        "log": _log,
        "stop": _stop,
        "steer": _steer,
        "answer": _answer,
        "retry": _retry,
        "remove": _remove,
        "memory": _memory,
        "board": _board,
        "help": _help,
    }
)
