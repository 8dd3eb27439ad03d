"""What a run goes on from after its executor went away, and what its child is told then."""

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

from ..fence import fenced
from ..models import ConversationId, MessageBody, Run, RunStep, StepState
from ..store.protocol import Store

NO_ANSWER = (
    "Nobody answered in time. Go on with the safest assumption, and say in your report what you "
    "assumed."
)
_INTRO = (
    "Your work was interrupted and is now taken up again. These tool calls were under way then:"
)


def may_have_rows(run: Run) -> bool:
    """Whether anything may be stored of a run's conversation when its work begins.

    An unnamed run has a conversation to itself, and nothing of it is stored before its first model
    call is; where many begin at once, not having to look is what counts.
    """
    is_its_own = run.conversation == ConversationId(run.run_id)
    return not is_its_own or run.steps > 0 or run.fence > 1


async def stored_seq(run: Run, store: Store) -> int:
    """The highest number that is in use in a run's conversation, or 0."""
    return await store.last_seq(run.conversation) if may_have_rows(run) else 0


def resume_note(steps: Sequence[RunStep], messages: Sequence[MessageBody]) -> str:
    """Name the calls whose results the recorded messages do not hold.

    Returns:
        Text for the child; "" when the record is whole.
    """
    # counted, with what they were called with: some providers use a tool's name as the id of each
    # of its calls
    known = Counter(
        (_bare(call["id"]), _plain(call["function"]["arguments"]))
        for message in messages
        for call in message.get("tool_calls") or ()
    )
    open_steps: list[RunStep] = []
    for step in steps:
        call = (_bare(step.key.partition(":")[2]), _plain(step.arguments))
        # what the messages hold was written with its outcome: an intent is never among it
        if step.state is StepState.INTENT or not known[call]:
            open_steps.append(step)
        else:
            known[call] -= 1
    if not open_steps:
        return ""
    return "\n".join([_INTRO, *(_line(step) for step in open_steps)])


def answered_note(question: str, answer: str | None) -> str:
    """What a child is told whose question was open when its work was interrupted."""
    if answer is None:
        return f"You had asked:\n{fenced(question, what='question')}\n{NO_ANSWER}"
    return (
        f"You had asked:\n{fenced(question, what='question')}\nThe answer of your principal:\n"
        f"{answer}"
    )


def _bare(call_id: str) -> str:
    """A call's id without the number that tells it from others of its step."""
    bare, _, number = call_id.rpartition("#")
    return bare if bare and number.isdigit() else call_id


def _plain(arguments: Any) -> str:
    """Arguments in one spelling; what is no JSON stays as it is."""
    try:
        return json.dumps(json.loads(arguments), sort_keys=True)
    except ValueError:
        return str(arguments)


def _line(step: RunStep) -> str:
    call = f"- {step.name} {step.arguments}"
    if step.state is StepState.INTENT:
        return f"{call}: outcome unknown; check whether it took effect before you repeat it."
    return f"{call}: done. Its result:\n{fenced(step.output, what='result')}"
