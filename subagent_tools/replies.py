"""Errors as the main model reads them: what was wrong, what is allowed, what to do next.

The one place where the core's errors become text for the model. A test proves that every class
of the tree is handled.
"""

from collections.abc import Mapping
from difflib import get_close_matches
from types import MappingProxyType

from ..manager import errors

_NAMES_SHOWN = 40
_PROBLEM_SHOWN = 1_000
"""Characters of an error itself: it may repeat what a model sent, however long that is."""


def error_text(error: errors.SubAgentError) -> str:
    """One error as text for the model; nothing was changed by the call."""
    problem = str(error)
    if len(problem) > _PROBLEM_SHOWN:
        problem = f"{problem[:_PROBLEM_SHOWN]}..."
    return f"Error: {problem} {next_step(error)}".rstrip()


def next_step(error: errors.SubAgentError) -> str:
    """What to do next."""
    match error:
        case errors.UnknownReference(names=(name, *_), known=known):
            return _near(name, known) + f"Known: {_listed(known)}."
        case errors.AgentNotFound(name=name, known=known) if known:
            return _near(name, known) + f"Sub-agents: {_listed(known)}."
        case errors.RunNotFound(run_id=run_id, known=known) if known:
            return _near(run_id, known) + f"Tasks: {_listed(known)}."
        case errors.AgentBusy(run_ids=(run_id, *_)):
            return (
                "Wait with `wait_for_subagent`, or stop it first: `cancel_subagent_task` with "
                f'task_id "{run_id}".'
            )
        case errors.AlreadyRunning(run_id=run_id):
            return (
                f'Wait for it with `wait_for_subagent`, task_id "{run_id}", or end your turn: the '
                "result is delivered. Give a different task if you meant another one."
            )
        case errors.NoOpenQuestion(open_ids=open_ids) if open_ids:
            return f"Tasks with an open question: {_listed(open_ids)}."
        case errors.LimitReached(key="starts_per_turn"):
            return "Collect what is running; start the rest in a later turn."
    return _NEXT_STEPS[error.code]


_LOOK = "Nothing was started. Tell the user that the bot's owner must look at the log."
_NEXT_STEPS: Mapping[str, str] = MappingProxyType(
    {
        errors.SubAgentError.code: "Try something else.",
        errors.InvalidArgument.code: "Correct it and call again.",
        errors.InvalidName.code: "Choose another name and call again.",
        errors.NameTaken.code: "Choose another name and call again.",
        errors.UnknownReference.code: "Leave it out, or name one that exists.",
        errors.AgentNotFound.code: "There are no sub-agents; make one with `create_subagent`.",
        errors.AgentBusy.code: "Wait with `wait_for_subagent`.",
        errors.AgentStatic.code: "It can be used, not changed. Choose another name for a new one.",
        errors.AgentProtected.code: "Take the protection away with `unprotect_subagent` first.",
        errors.NotPermitted.code: "Only that user or an admin may do this. Use one of your own.",
        errors.LimitReached.code: (
            "Use a sub-agent that exists, or free a place with `remove_subagent`."
        ),
        errors.RunNotFound.code: "Nothing is running here; see `list_subagents`.",
        errors.RunNotFinished.code: (
            "Use `wait_for_subagent`, or end your turn: the result is delivered later."
        ),
        errors.RunAlreadyFinished.code: "Read it with `read_subagent_result`.",
        errors.AlreadyRunning.code: "Wait for it with `wait_for_subagent`.",
        errors.PredecessorMissing.code: "Do that one once more first.",
        errors.NoOpenQuestion.code: "Nothing waits for an answer; see `list_subagents`.",
        errors.IllegalTransition.code: "See `list_subagents` for how it stands now.",
        errors.FeatureOff.code: "Do the work yourself, or ask the bot's owner to switch it on.",
        errors.ShuttingDown.code: "Try again in a moment.",
        errors.LostRun.code: "Its result will be delivered by that process.",
        errors.StoreError.code: _LOOK,
        errors.StoreTooNew.code: "Tell the user that the bot's owner must update the plugin.",
        errors.StoreLocked.code: "Tell the user that another bot process uses the same data.",
        errors.StoreUnavailable.code: _LOOK,
    }
)


def _near(name: str, known: tuple[str, ...]) -> str:
    matches = get_close_matches(name.lower(), [other.lower() for other in known], n=1, cutoff=0.6)
    if not matches:
        return ""
    original = next(other for other in known if other.lower() == matches[0])
    return f"Did you mean {original!r}? "


def _listed(names: tuple[str, ...]) -> str:
    if not names:
        return "none"
    shown = ", ".join(names[:_NAMES_SHOWN])
    return shown + (f" and {len(names) - _NAMES_SHOWN} more" if len(names) > _NAMES_SHOWN else "")
