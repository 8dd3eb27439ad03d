"""The notice board and the switches of a session, seen and changed from the page."""

from ..manager.models import SessionId
from .asks import ClearBoardAsks, NoteAsks, SessionAsks, SwitchAsks
from .dashboard import PAGE, Dashboard
from .replies import Board, BoardNote, Removed
from .replies_pages import Switches
from .session_views import notes_of, switches
from .shaping import board_note


async def board(dashboard: Dashboard, asked: SessionAsks) -> Board:
    """All notes, also while the board is off."""
    session = SessionId(asked.session)
    await dashboard.check_session(session)
    return Board(items=[board_note(each) for each in await notes_of(dashboard, session)])


async def post_note(dashboard: Dashboard, asked: NoteAsks) -> BoardNote:
    """Post as the people who run the bot."""
    manager = await dashboard.manager(asked.session)
    entry = await manager.board.post_for_bot(asked.kind, asked.content, target=asked.target)
    return board_note(entry)


async def clear_board(dashboard: Dashboard, asked: ClearBoardAsks) -> Removed:
    """Take notes away."""
    manager = await dashboard.manager(asked.session)
    removed = await manager.steering.clear_board(PAGE, private=True, sender=asked.sender)
    return Removed(removed=removed)


async def switch(dashboard: Dashboard, asked: SwitchAsks) -> Switches:
    """Let a session remember, or have a board, or follow the settings."""
    manager = await dashboard.manager(asked.session)
    if "memory" in asked.model_fields_set:
        await manager.steering.switch_memory(asked.memory, PAGE, private=True)
    if "board" in asked.model_fields_set:
        await manager.steering.switch_board(asked.board, PAGE, private=True)
    return await switches(dashboard, manager.session)
