"""What can go wrong in the core, as one tree.

SubAgentError
 |- InvalidArgument        a value that is not allowed
 |- InvalidName            a name that no agent may have
 |- NameTaken              the name belongs to another tool or to a static agent
 |- UnknownReference       a tool, skill or provider that does not exist
 |- AgentNotFound
 |- AgentBusy              the agent has unfinished runs
 |- AgentStatic            the bot's own agent cannot be changed
 |- AgentProtected
 |- NotPermitted           another user's agent or run
 |- LimitReached           agents per session, starts per turn
 |- RunNotFound
 |- RunNotFinished
 |- RunAlreadyFinished
 |- AlreadyRunning         the same brief is under way at the same agent
 |- PredecessorMissing     what a task builds on is not completed
 |- NoOpenQuestion         the run waits for no answer
 |- IllegalTransition      a state change that the table does not know
 |- FeatureOff             switched off by a setting, or in this chat
 |- ShuttingDown           the plugin is being reloaded or stopped
 |- LostRun                another executor has taken the run over
 `- StoreError
     |- StoreTooNew        written by a later version
     |- StoreLocked        another process uses it
     `- StoreUnavailable   disk full, read-only, no connection

Each class has a stable `code`, typed fields, and builds its own message. What to do next is
said at the edge: `subagent_tools/replies.py` for the model.
"""

from collections.abc import Iterable
from typing import ClassVar


class SubAgentError(Exception):
    """The root: everything that the core raises on purpose."""

    code: ClassVar[str] = "subagent_error"


class InvalidArgument(SubAgentError):
    """A value that is not allowed.

    Attributes:
        field: The argument's name.
        problem: What is wrong with it.
    """

    code = "invalid_argument"

    def __init__(self, field: str, problem: str) -> None:
        self.field = field
        self.problem = problem
        super().__init__(f"`{field}` {problem}.")


class InvalidName(SubAgentError):
    """A name that no agent may have."""

    code = "invalid_name"

    def __init__(self, name: str, problem: str) -> None:
        self.name = name
        self.problem = problem
        super().__init__(f"{name!r} cannot be the name of a sub-agent: {problem}.")


class NameTaken(SubAgentError):
    """The name is in use by something that may not be replaced."""

    code = "name_taken"

    def __init__(self, name: str, holder: str) -> None:
        self.name = name
        self.holder = holder
        super().__init__(f"The name {name!r} is taken by {holder}.")


class UnknownReference(SubAgentError):
    """Names of tools, skills or providers that do not exist here.

    Attributes:
        kind: `tool`, `skill`, `provider` or `tool filter`.
        names: The unknown ones.
        known: What there is, sorted.
    """

    code = "unknown_reference"

    def __init__(self, kind: str, names: Iterable[str], known: Iterable[str]) -> None:
        self.kind = kind
        self.names = tuple(names)
        self.known = tuple(sorted(known))
        super().__init__(f"Unknown {kind}: {', '.join(self.names)}.")


class AgentNotFound(SubAgentError):
    """No agent of that name in this session."""

    code = "agent_not_found"

    def __init__(self, name: str, known: Iterable[str]) -> None:
        self.name = name
        self.known = tuple(sorted(known))
        super().__init__(f"There is no sub-agent named {name!r}.")


class AgentBusy(SubAgentError):
    """The agent has unfinished runs, so it cannot be changed."""

    code = "agent_busy"

    def __init__(self, name: str, run_ids: Iterable[str]) -> None:
        self.name = name
        self.run_ids = tuple(run_ids)
        super().__init__(f"Sub-agent {name!r} is at work: {', '.join(self.run_ids)}.")


class AgentStatic(SubAgentError):
    """A static agent belongs to the bot's configuration."""

    code = "agent_static"

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(f"Sub-agent {name!r} is static: it comes from the bot's configuration.")


class AgentProtected(SubAgentError):
    """A protected agent is not replaced or removed."""

    code = "agent_protected"

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(f"Sub-agent {name!r} is protected.")


class NotPermitted(SubAgentError):
    """It belongs to another user of this chat."""

    code = "not_permitted"

    def __init__(self, what: str) -> None:
        self.what = what
        super().__init__(f"{what} belongs to another user.")


class LimitReached(SubAgentError):
    """A limit on numbers is reached.

    Attributes:
        what: What is counted, in the plural.
        limit: How many are allowed.
        key: The setting that holds the limit.
    """

    code = "limit_reached"

    def __init__(self, what: str, limit: int, *, key: str) -> None:
        self.what = what
        self.limit = limit
        self.key = key
        super().__init__(f"The limit of {limit} {what} is reached (setting `{key}`).")


class RunNotFound(SubAgentError):
    """No run of that id in this session."""

    code = "run_not_found"

    def __init__(self, run_id: str, known: Iterable[str] = ()) -> None:
        self.run_id = run_id
        self.known = tuple(known)
        super().__init__(f"There is no task {run_id!r}.")


class RunNotFinished(SubAgentError):
    """The run has no result yet."""

    code = "run_not_finished"

    def __init__(self, run_id: str, state: str) -> None:
        self.run_id = run_id
        self.state = state
        super().__init__(f"Task {run_id} is {state}; it has no result yet.")


class RunAlreadyFinished(SubAgentError):
    """The run is over and cannot be stopped."""

    code = "run_already_finished"

    def __init__(self, run_id: str, state: str) -> None:
        self.run_id = run_id
        self.state = state
        super().__init__(f"Task {run_id} is already over: {state}.")


class AlreadyRunning(SubAgentError):
    """The same brief was given to the same agent, and it is still under way."""

    code = "already_running"

    def __init__(self, name: str, run_id: str) -> None:
        self.name = name
        self.run_id = run_id
        super().__init__(f"Sub-agent {name!r} has this very task already: task {run_id}.")


class PredecessorMissing(SubAgentError):
    """A task cannot be done once more, since what it builds on is not completed.

    Attributes:
        run_id: The task.
        label: The name of the one that it builds on.
        first: That one's id: it is to be done once more first.
    """

    code = "predecessor_missing"

    def __init__(self, run_id: str, label: str, first: str) -> None:
        self.run_id = run_id
        self.label = label
        self.first = first
        super().__init__(
            f"Task {run_id} needs the result of {label!r}, task {first}, which is not completed."
        )


class NoOpenQuestion(SubAgentError):
    """The run waits for no answer; it was given, came too late, or nothing was asked."""

    code = "no_open_question"

    def __init__(self, run_id: str, open_ids: Iterable[str]) -> None:
        self.run_id = run_id
        self.open_ids = tuple(open_ids)
        super().__init__(f"Task {run_id} has no open question.")


class IllegalTransition(SubAgentError):
    """A state change that the transition table does not know."""

    code = "illegal_transition"

    def __init__(self, run_id: str, old: str, new: str) -> None:
        self.run_id = run_id
        self.old = old
        self.new = new
        super().__init__(f"Task {run_id} cannot go from {old} to {new}.")


class FeatureOff(SubAgentError):
    """Switched off by a setting, or for this chat.

    Attributes:
        what: What is off.
        key: The setting, or "" when it is off for this chat.
    """

    code = "feature_off"

    def __init__(self, what: str, *, key: str = "") -> None:
        self.what = what
        self.key = key
        super().__init__(f"{what} is switched off" + (f" (setting `{key}`)." if key else " here."))


class ShuttingDown(SubAgentError):
    """The plugin is being reloaded or stopped; nothing new starts."""

    code = "shutting_down"

    def __init__(self) -> None:
        super().__init__("The sub-agents plugin is being reloaded or stopped.")


class LostRun(SubAgentError):
    """Another executor has taken the run; this one must not write any more."""

    code = "lost_run"

    def __init__(self, run_id: str) -> None:
        self.run_id = run_id
        super().__init__(f"Task {run_id} was taken over by another process.")


class StoreError(SubAgentError):
    """The store cannot do what was asked."""

    code = "store_error"


class StoreTooNew(StoreError):
    """The store was written by a later version; it was left untouched."""

    code = "store_too_new"

    def __init__(self, found: str) -> None:
        self.found = found
        super().__init__(
            f"The store has the schema {found!r} of a later version; update the plugin. "
            "Nothing was changed."
        )


class StoreLocked(StoreError):
    """Another process uses the same SQLite file."""

    code = "store_locked"

    def __init__(self, path: str) -> None:
        self.path = path
        super().__init__(f"Another process uses the store {path}.")


class StoreUnavailable(StoreError):
    """The store cannot be read or written now: disk full, read-only, no connection."""

    code = "store_unavailable"

    def __init__(self, problem: str) -> None:
        self.problem = problem
        super().__init__(f"The store cannot be used: {problem}.")
