"""What a child is told when its run is taken up again after its executor went away."""

from collections.abc import Sequence

from ..fence import fenced
from ..models import MessageBody, RunStep, StepState

_INTRO = (
    "Your work was interrupted and is now taken up again. These tool calls were under way then:"
)


def resume_note(steps: Sequence[RunStep], messages: Sequence[MessageBody]) -> str:
    """Name the calls whose results the recorded messages do not hold.

    Returns:
        Text for the child; "" when the record is whole.
    """
    known = {message.get("tool_call_id") for message in messages}
    open_steps = [step for step in steps if step.key.partition(":")[2] not in known]
    if not open_steps:
        return ""
    return "\n".join([_INTRO, *(_line(step) for step in open_steps)])


def _line(step: RunStep) -> str:
    call = f"- {step.name} {step.arguments}"
    if step.state is StepState.INTENT:
        return f"{call}: outcome unknown; check whether it took effect before you repeat it."
    return f"{call}: done. Its result:\n{fenced(step.output, what='result')}"
