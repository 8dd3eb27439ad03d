"""Giving work to an agent: every check before anything starts, then a run in the line."""

from collections.abc import Sequence
from dataclasses import replace

from .errors import AgentNotFound, AlreadyRunning, InvalidArgument, LimitReached, SubAgentError
from .models import AgentName, Origin, OwnerId, Run, RunId, SessionId, SubAgentConfig, Turn
from .names import name_key
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
        self.agent(name, turn)
        if not task.strip():
            raise InvalidArgument("input", "must not be empty")
        self.count_starts(turn, 1)
        try:
            images = await self._services.host.admit_images(image_urls, turn) if image_urls else ()
            # looked up again: checking images takes a while
            agent = self.agent(name, turn)
            self.refuse_double(agent.name, task, images, turn.asker.owner)
            run = self._new_run(agent, task, turn, images)
            return await self._start(replace(run, background=background), turn)
        except SubAgentError:
            turn.starts -= 1
            raise

    def count_starts(self, turn: Turn, number: int) -> None:
        """Count runs that a turn is about to start.

        Raises:
            LimitReached: They would be too many for one turn; nothing was counted.
        """
        limit = self._services.settings().starts_per_turn
        if turn.starts + number > limit:
            raise LimitReached("tasks started in one turn", limit, key="starts_per_turn")
        turn.starts += number

    def origin(self, turn: Turn) -> Origin:
        """Where a run of this turn comes from."""
        return replace(
            turn.origin,
            turn_id=turn.turn_id,
            tools=tuple(sorted(self._services.host.tool_names(turn))),
        )

    def agent(self, name: str, turn: Turn) -> SubAgentConfig:
        """An agent that the turn may give work to.

        Raises:
            AgentNotFound: There is none of that name for this turn.
        """
        agent = self._roster.get(name)
        if not is_for(agent, turn):
            usable = [each.name for each in self._roster.all() if is_for(each, turn)]
            raise AgentNotFound(name, usable)
        return agent

    def refuse_double(
        self, agent: AgentName | None, task: str, images: Sequence[str], owner: OwnerId
    ) -> None:
        """Refuse a brief that this agent is working on for the same user.

        A model whose memory of the call is gone, or that is impatient, gives it again.

        Args:
            agent: None means the unnamed copies.
            task: The brief.
            images: What goes with it.
            owner: For whom.

        Raises:
            AlreadyRunning: It is under way.
        """
        brief = " ".join(task.split())
        key = agent and name_key(agent)
        for run in self._runs.live():
            same = " ".join(run.input.split()) == brief and set(run.image_urls) == set(images)
            if same and run.owner == owner and (run.agent and name_key(run.agent)) == key:
                raise AlreadyRunning(name_of(run), run.run_id)

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
            origin=self.origin(turn),
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


def name_of(run: Run) -> str:
    """What people call a run by: its agent, else the name of its task."""
    return run.agent or (run.task.label if run.task else run.run_id)


def is_for(agent: SubAgentConfig, turn: Turn) -> bool:
    """Whether the persona of a turn may use an agent."""
    return not agent.personas or turn.origin.persona_id in agent.personas
