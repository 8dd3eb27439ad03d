"""The core on a fake host with a real SQLite store: what the plugin's own machinery costs."""

from pathlib import Path

from astrbot_plugin_subagents.manager import NewAgent, Sessions, Settings, TurnEnd
from astrbot_plugin_subagents.manager.store import SqlStore
from astrbot_plugin_subagents.manager.testing import (
    FakeHost,
    Say,
    Use,
    make_services,
    make_turn,
    says,
)


class CoreBench:
    """One session with one agent, whose child uses two tools and then answers."""

    def __init__(self, folder: Path) -> None:
        host = FakeHost(says(Use(tool="search"), Use(tool="search"), Say(text="42")))
        self._sessions = Sessions(
            make_services(
                SqlStore(folder / "core.db"),
                folder / "files",
                host=host,
                settings=Settings(history_enabled=False),
            )
        )
        self._count = 0

    async def open(self) -> None:
        """Open the store and make the agent."""
        await self._sessions.start()
        manager = await self._sessions.open(make_turn().session)
        turn = make_turn(turn_id="setup")
        manager.begin_turn(turn)
        await manager.create(NewAgent(name="worker", system_prompt="Work."), turn)
        await manager.protect("worker", turn.asker)
        await manager.end_turn(turn, end=TurnEnd.ANSWERED)

    async def delegate(self) -> None:
        """One turn with one delegation."""
        self._count += 1
        turn = make_turn(turn_id=f"turn{self._count}")
        manager = await self._sessions.open(turn.session)
        manager.begin_turn(turn)
        run = await manager.delegate("worker", "measure", turn)
        outcome = await manager.wait([run.run_id], turn, timeout_seconds=60)
        assert outcome.finished[0].last_text == "42"
        await manager.end_turn(turn, end=TurnEnd.ANSWERED)

    async def close(self) -> None:
        """Let go of everything."""
        await self._sessions.close()
