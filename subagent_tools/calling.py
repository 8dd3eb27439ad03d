"""The edge: one call of a tool by the model, from raw arguments to one text."""

import json
import logging
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ValidationError

from ..manager import SubAgentError
from ..manager.store.texts import clean
from .arguments import validation_text
from .replies import error_text
from .reports import unsaved
from .spec import CallContext, ToolSpec

logger = logging.getLogger(__name__)


async def call_tool[A: BaseModel](
    spec: ToolSpec[A], context: CallContext, arguments: Mapping[str, Any]
) -> str:
    """Check the arguments, run the tool, and turn every error into text.

    The call and its reply are kept with the turn, in case the bot is stopped before it ends. Only
    `CancelledError` gets through.
    """
    if not spec.only_reads:
        context.manager.log.begin(context.turn)
    reply = await _reply(spec, context, arguments)
    if note := unsaved(context.manager):
        reply = f"{reply}\n\n{note}"
    context.manager.log.add(
        context.turn,
        tool=spec.name,
        arguments=json.dumps(arguments, ensure_ascii=False, default=str),
        reply=reply,
    )
    return reply


async def _reply[A: BaseModel](
    spec: ToolSpec[A], context: CallContext, arguments: Mapping[str, Any]
) -> str:
    try:
        # checked as it came: a model may send a list or nothing where an object is wanted
        checked = spec.arguments.model_validate(arguments)
    except ValidationError as error:
        problems = validation_text(error, spec.arguments)
        return f"Error: {problems} Nothing was changed; correct it and call `{spec.name}` again."
    try:
        return clean(await spec.handler(context, checked))
    except SubAgentError as error:
        return error_text(error)
    except Exception as error:
        logger.exception("Tool %s failed", spec.name)
        return (
            f"Error: `{spec.name}` failed inside ({type(error).__name__}). The bot's log has the "
            "details. Do not repeat the same call; use `list_subagents` to see how things stand."
        )
