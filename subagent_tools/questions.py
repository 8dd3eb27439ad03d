"""Questions: a child asks whoever gave it the task, the main agent answers."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any

from pydantic import Field

from ..manager.child_desk import ChildDesk
from ..manager.host import ChildTool, ChildToolReply
from .arguments import Arguments
from .child_calling import call_child_tool
from .spec import CallContext, ToolSpec, plain_schema


class AnswerArguments(Arguments):
    """What `answer_subagent` takes."""

    task_id: Annotated[str, Field(description="The task that asks.")]
    answer: Annotated[str, Field(min_length=1, max_length=20_000, description="Your answer.")]


class AskArguments(Arguments):
    """What a child's `ask_question` takes."""

    question: Annotated[
        str, Field(min_length=1, max_length=4_000, description="One question, complete in itself.")
    ]
    options: Annotated[
        tuple[Annotated[str, Field(max_length=400)], ...],
        Field(max_length=10, description="Answers to choose from, if it is a choice."),
    ] = ()


async def answer(context: CallContext, arguments: AnswerArguments) -> str:
    """Answer a child's question."""
    run = await context.manager.answer(arguments.task_id, arguments.answer, context.turn.asker)
    return (
        f"Task {run.run_id} goes on with your answer. Its result is delivered to you when it is "
        "there; collect it earlier with `wait_for_subagent`."
    )


ANSWER = ToolSpec(
    name="answer_subagent",
    description="Answer the question that a sub-agent's task asks. If only the user can know it, "
    "ask the user first.",
    arguments=AnswerArguments,
    handler=answer,
)

_ASK_PARAMETERS: Mapping[str, Any] = MappingProxyType(plain_schema(AskArguments))
"""Made once: every run of every child has the tool."""


def ask_tools(desk: ChildDesk) -> tuple[ChildTool, ...]:
    """The child's tool, where questions are on."""
    if desk.ask_principal is None:
        return ()

    async def ask(arguments: AskArguments) -> str:
        return await desk.ask(arguments.question, arguments.options)

    async def call(arguments: Mapping[str, Any]) -> ChildToolReply:
        return await call_child_tool(AskArguments, ask, arguments, undone="Nothing was asked.")

    return (
        ChildTool(
            name="ask_question",
            description="Ask whoever gave you the task, and wait for the answer. Only for what "
            "you cannot find out and cannot safely assume.",
            parameters=_ASK_PARAMETERS,
            read_only=True,
            call=call,
        ),
    )
