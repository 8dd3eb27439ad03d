"""How an unnamed copy works: the phases of its kind, each ended by an answer of its model.

A phase is a way of asking, not a label: `reflection` is asked for a draft, for what is wrong with
it, and for a better version; `plan` for a plan, which may not act yet, and then for carrying it
out. All phases count into the same limit of model calls, and each keeps one for those after it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from ..models import MessageBody
from ..task_shape import AgentType


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase:
    """One way of asking."""

    instruction: str = ""
    """What the child is told at its beginning; the first one's goes behind the task."""
    with_tools: bool = True


_NO_TOOLS_LEFT = "Write it now, with what you have: you cannot use tools any more in this phase."

PHASES: Mapping[AgentType, tuple[Phase, ...]] = MappingProxyType(
    {
        AgentType.REACT: (Phase(),),
        AgentType.SIMPLE: (Phase(instruction="Answer at once, in one message.", with_tools=False),),
        AgentType.PLAN: (
            Phase(
                instruction="First write a plan and nothing else: numbered steps, for each what "
                "it must bring and with which tool. Do not carry anything out yet.",
                with_tools=False,
            ),
            Phase(
                instruction="Now carry out your plan, step by step. Change it where a step brings "
                "something else than expected, and say so. At the end write your report."
            ),
        ),
        AgentType.REFLECTION: (
            Phase(instruction="First work out a complete draft of your report."),
            Phase(
                instruction="Now criticise your draft as a strict reviewer would: what is wrong, "
                "missing, unproven or unclear? Name each fault and how to mend it. Do not rewrite "
                "the draft yet.",
                with_tools=False,
            ),
            Phase(
                instruction="Now mend every fault that you named, with your tools where something "
                "must be looked up again, and write the final report in full. It stands alone: "
                "who reads it has not seen the draft."
            ),
        ),
    }
)


def opening(agent_type: AgentType) -> str:
    """What stands behind the task of a new run; "" is nothing."""
    return PHASES[agent_type][0].instruction


def least_steps(agent_type: AgentType) -> int:
    """How many model calls a run of this kind needs at least."""
    return len(PHASES[agent_type])


class Phases:
    """Where one run stands in its phases."""

    def __init__(self, agent_type: AgentType = AgentType.REACT) -> None:
        self._left = list(PHASES[agent_type])

    def catch_up(self, recorded: Sequence[MessageBody]) -> None:
        """Go to where a run stood that is taken up again.

        Args:
            recorded: The messages of the run so far.
        """
        # not a set: a content may be a list of parts
        told = [body.get("content") for body in recorded if body.get("role") == "user"]
        while len(self._left) > 1 and self._left[1].instruction in told:
            del self._left[0]

    def withholds_tools(self, calls_left: int) -> bool:
        """Whether the next model call is to be made without tools.

        Args:
            calls_left: Model calls that the run may still make, the next one included.
        """
        return not self._left[0].with_tools or self._must_end(calls_left)

    def only_answers(self) -> bool:
        """Whether all that is left is one answer, as it was meant from the beginning."""
        return len(self._left) == 1 and not self._left[0].with_tools

    def note(self, calls_left: int) -> str:
        """What the child is told when it has to end its phase; "" is nothing."""
        ends = self._left[0].with_tools and self._must_end(calls_left)
        return _NO_TOOLS_LEFT if ends else ""

    def go_on(self) -> str:
        """Go to the next phase after an answer.

        Returns:
            What the child is told; "" when that answer was its last.
        """
        if len(self._left) == 1:
            return ""
        del self._left[0]
        return self._left[0].instruction

    def _must_end(self, calls_left: int) -> bool:
        """Whether the phases behind this one need all further calls."""
        return len(self._left) > 1 and calls_left <= len(self._left)
