"""Giving work to an agent: every check before anything starts, then a run in the line."""

from collections.abc import Sequence
from dataclasses import replace

from .errors import AgentNotFound, InvalidArgument, LimitReached, SubAgentError
from .models import Run, RunId, SessionId, SubAgentConfig, Turn
from .roster import Roster
from .runs.desk import RunDesk
from .services import Services


class Delegation:
    """Starts runs of one session's agents."""

    def __init__(
        self, session: SessionId, services: Services, roster: Roster, runs: RunDesk
    ) -> None:
        self._session = session
        self._services = services
        self._roster = roster
        self._runs = runs

    async def start(
        self, name: str, task: str, turn: Turn, *, background: bool, image_urls: Sequence[str]
    ) -> Run:
        """Give an agent a task; see `SubAgentManager.delegate`."""
        self._agent(name, turn)
        if not task.strip():
            raise InvalidArgument("input", "must not be empty")
        limit = self._services.settings().starts_per_turn
        if turn.starts >= limit:
            raise LimitReached("tasks started in one turn", limit, key="starts_per_turn")
        turn.starts += 1
        try:
            images = await self._services.host.admit_images(image_urls, turn) if image_urls else ()
            # looked up again: checking images takes a while
            run = self._new_run(self._agent(name, turn), task, turn, images)
            return await self._start(replace(run, background=background), turn)
        except SubAgentError:
            turn.starts -= 1
            raise

    def _agent(self, name: str, turn: Turn) -> SubAgentConfig:
        agent = self._roster.get(name)
        if not is_for(agent, turn):
            usable = [each.name for each in self._roster.all() if is_for(each, turn)]
            raise AgentNotFound(name, usable)
        return agent

    def _new_run(
        self, agent: SubAgentConfig, task: str, turn: Turn, images: tuple[str, ...]
    ) -> Run:
        return Run(
            run_id=RunId(self._services.clock.new_id()),
            session=self._session,
            agent=agent.name,
            conversation=agent.conversation,
            input=task,
            image_urls=images,
            owner=turn.asker.owner,
            origin=replace(
                turn.origin,
                turn_id=turn.turn_id,
                tools=tuple(sorted(self._services.host.tool_names(turn))),
            ),
            created_at=self._services.clock.now(),
        )

    async def _start(self, run: Run, turn: Turn) -> Run:
        if not run.background:
            turn.children.add(run.run_id)
        try:
            return await self._runs.start(run, self._services.settings())
        except SubAgentError:
            turn.children.discard(run.run_id)
            raise


def is_for(agent: SubAgentConfig, turn: Turn) -> bool:
    """Whether the persona of a turn may use an agent."""
    return not agent.personas or turn.origin.persona_id in agent.personas
