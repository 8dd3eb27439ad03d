"""Agents, runs and errors as lines for people, in the chat's language."""

from collections.abc import Callable, Sequence

from ..manager import AgentKind, AgentStatus, Run, RunState
from ..manager.errors import SubAgentError
from ..manager.models import MessageBody

type Say = Callable[..., str]

_RESULT = 3_000
"""Characters of a result in one message."""
_PART = 400
"""Characters of one message of a transcript, or of a task."""
_QUESTION = 1_000
_TOOLS = 600
"""Characters of the tools that a run used."""
_LOG = 3_500
"""Characters of a transcript; its newest end is shown."""
_NAME = 60
_LISTED = 10
"""Names or files of one list that are shown."""


def agent_line(status: AgentStatus, say: Say) -> str:
    """One agent in a line."""
    config = status.config
    safe = config.protected or config.kind is AgentKind.STATIC
    busy = len(status.running) + len(status.queued)
    return say(
        "agent.line",
        name=config.name,
        kind=say(f"agent.{config.kind}"),
        marks=say("agent.protected") if safe else "",
        state=say("agent.busy", count=busy) if busy else say("agent.idle"),
    )


def run_line(run: Run, say: Say) -> str:
    """One run in a line, without its words."""
    return say(
        "run.line",
        task_id=run.run_id,
        name=who(run),
        state=say(f"state.{run.state}"),
        steps=run.steps,
    )


def run_report(run: Run, say: Say) -> str:
    """One run with what it was given and what it said; for those who may read it."""
    tools = run.tools_used
    lines = [
        run_line(run, say),
        say("run.task", text=shortened(run.input, _PART)),
        say(
            "run.facts",
            tokens=run.usage.total,
            tools=shortened(", ".join(f"{use.name} x{use.calls}" for use in tools) or "-", _TOOLS),
        ),
    ]
    if run.state is RunState.WAITING:
        lines.append(say("run.asks", question=shortened(run.question, _QUESTION)))
    if run.failure is not None:
        lines.append(say("run.reason", reason=shortened(run.failure.message, _PART)))
    files = [item for item in run.artifacts if item.path]
    if run.last_text:
        lines.append(shortened(run.last_text, _RESULT))
    lines += [say("run.file", path=item.path) for item in files[:_LISTED]]
    return "\n".join(lines)


def transcript_text(run: Run, bodies: Sequence[MessageBody], say: Say) -> str:
    """The messages of a run, the newest end of them."""
    lines = [line for body in bodies for line in _lines_of(body)]
    if not lines:
        return f"{run_line(run, say)}\n{say('log.nothing')}"
    text = "\n".join(lines)
    if len(text) > _LOG:
        text = f"...\n{text[-_LOG:]}"
    return f"{run_line(run, say)}\n{text}"


def error_text(error: SubAgentError, say: Say) -> str:
    """An error as people read it: a text for its kind, with its own fields in it."""
    fields = {name: _field(value) for name, value in vars(error).items()}
    return say(f"error.{error.code}", **fields)


def who(run: Run) -> str:
    """What a run is called: its agent, else its task's label."""
    if run.agent is not None:
        return str(run.agent)
    # a label may be any text, and a line stays a line
    label = " ".join(run.task.label.split()) if run.task else ""
    return shortened(label, _NAME) or str(run.run_id)


def shortened(text: str, most: int) -> str:
    """A text of at most so many characters and a mark."""
    return text if len(text) <= most else f"{text[:most]}..."


def _field(value: object) -> str:
    if isinstance(value, tuple):
        shown = ", ".join(shortened(str(each), _NAME) for each in value[:_LISTED])
        return shown if value else "-"
    return shortened(str(value), _PART)


def _lines_of(body: MessageBody) -> list[str]:
    role, content = body.get("role"), body.get("content")
    if isinstance(content, list):
        content = " ".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    lines = [f"[{role}] {shortened(str(content), _PART)}"] if content else []
    for call in body.get("tool_calls") or ():
        function = call.get("function", {})
        arguments = shortened(str(function.get("arguments", "")), _PART)
        lines.append(f"[{role}] -> {function.get('name')} {arguments}")
    return lines
