"""Rows <-> orders of runs. Writing gives column values; reading is strict."""

from typing import Any, get_args

from sqlalchemy import Row

from ..run_order import OrderKind, RunOrder
from .rows import Values, strict

_KINDS = get_args(OrderKind.__value__)


def order_values(order: RunOrder) -> Values:
    """The row of a new order; the database gives its number."""
    return {
        "session": order.session,
        "run_id": order.run_id,
        "kind": order.kind,
        "text": order.text,
        "about": order.about,
        "at": order.at,
    }


@strict("order")
def read_order(row: Row[Any]) -> RunOrder:
    """The order of a row."""
    if row.kind not in _KINDS:
        raise ValueError(row.kind)
    return RunOrder(
        session=row.session,
        run_id=row.run_id,
        kind=row.kind,
        text=row.text,
        about=row.about,
        at=row.at,
    )
