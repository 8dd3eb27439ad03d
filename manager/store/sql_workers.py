"""Homes and orders, as functions over a connection. `SqlStore` calls them."""

from datetime import datetime

from sqlalchemy import BindParameter, Connection, bindparam, delete, insert, or_, select, update

from ..models import Run, RunId, SessionId
from ..run_order import RunOrder
from .codec_orders import order_values, read_order
from .codec_runs import read_run
from .rows import DamagedRow
from .schema import run, run_order, session
from .session_row import keep_session

_OF_SESSION: BindParameter[str] = bindparam("of_session")
_OF_RUN: BindParameter[str] = bindparam("of_run")

_HOME = select(session.c.home).where(session.c.session == _OF_SESSION)
# Two processes that move it at the same time do it one after the other.
_HOME_NOW = _HOME.with_for_update()
_MOVE = update(session).where(session.c.session == _OF_SESSION)
_ADOPT = update(session).where(or_(session.c.home.is_(None), session.c.home == ""))
_FIND = select(run).where(run.c.run_id == _OF_RUN)
_ADD = insert(run_order)
_TAKE = delete(run_order).where(run_order.c.run_id == _OF_RUN).returning(run_order)


def home_of(connection: Connection, of: SessionId) -> str:
    """The home of a session."""
    return connection.scalar(_HOME, {"of_session": of}) or ""


def move(connection: Connection, of: SessionId, home: str, at: datetime) -> str:
    """Move a session to another home; the home before."""
    keep_session(connection, of, at)
    before: str = connection.scalar(_HOME_NOW, {"of_session": of}) or ""
    if before != home:
        connection.execute(_MOVE, {"of_session": of, "home": home})
    return before


def adopt(connection: Connection, home: str) -> int:
    """Take the sessions without a home; how many there were."""
    return connection.execute(_ADOPT, {"home": home}).rowcount


def find(connection: Connection, run_id: RunId) -> Run | None:
    """One run."""
    row = connection.execute(_FIND, {"of_run": run_id}).one_or_none()
    return None if row is None else read_run(row)


def add_order(connection: Connection, order: RunOrder) -> None:
    """Keep an order."""
    connection.execute(_ADD, order_values(order))


def take_orders(connection: Connection, run_id: RunId) -> list[RunOrder]:
    """Take the orders of a run, oldest first; a damaged one is gone without effect."""
    rows = sorted(connection.execute(_TAKE, {"of_run": run_id}), key=lambda row: row.id)
    orders = []
    for row in rows:
        try:
            orders.append(read_order(row))
        except DamagedRow:
            continue
    return orders
