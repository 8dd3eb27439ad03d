"""Rows <-> what the forks of a call begin with.

Its messages and tools are one JSON text, since they are only ever read together.
"""

from typing import Any

from sqlalchemy import Row

from ..fork_context import ForkContext
from ..models import MessageBody
from .rows import Values, read_object, strict
from .texts import dump_json


def fork_values(fork: ForkContext) -> Values:
    """The row of a fork context."""
    return {
        "group_id": fork.group_id,
        "session": fork.session,
        "body": dump_json(
            {
                "messages": fork.messages,
                "tools": fork.tools,
                "provider_id": fork.provider_id,
                "model": fork.model,
            }
        ),
        "created_at": fork.created_at,
    }


@strict("fork context")
def read_fork(row: Row[Any]) -> ForkContext:
    """The fork context of a row."""
    body = read_object(row.body)
    return ForkContext(
        group_id=row.group_id,
        session=row.session,
        messages=_objects(body["messages"]),
        tools=_objects(body["tools"]),
        provider_id=_text(body["provider_id"]),
        model=_text(body["model"]),
        created_at=row.created_at,
    )


def _objects(value: Any) -> tuple[MessageBody, ...]:
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise TypeError("a list of objects was expected")
    return tuple(value)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("a text was expected")
    return value
