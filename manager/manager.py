"""SubAgentManager: one session's facade. The main path of the core starts here.

It joins the session's small objects: the agent desk (who there is), the run desk (what they do),
the outbox (whose result goes where). One object per session; nothing is shared between two.
"""

from collections.abc import Collection, Sequence
from datetime import datetime, tzinfo
from functools import partial
from typing import Literal

from .agents import AgentDesk, NewAgent
from .board import BoardDesk
from .delegation import Delegation, is_for
from .errands import Errands
from .errors import RunNotFinished
from .forgetting import Forgetting
from .guiding import Guiding
from .models import (
    AgentKind,
    Asker,
    Run,
    RunId,
    RunState,
    SessionId,
    StopReason,
    SubAgentConfig,
    Turn,
    TurnEnd,
)
from .overview import Overview, make_overview
from .preparation import Lookups, Preparation
from .prompts import router_prompt
from .reading import RunReader
from .repeating import Repeating
from .roster import Roster
from .runs.desk import RunDesk, WaitOutcome
from .runs.supervisor import Supervisor
from .services import Services
from .session_state import Kept, SessionState
from .settings import Settings, StaticAgentSettings
from .shared_context import SharedContext
from .steering import Steering
from .stopping import Stopping
from .tasks import ForkContexts, NewTask, TaskDesk, no_fork_context
from .turn_log import TurnLog
from .turns import TurnDesk
from .workers.team import Team

type WaitMode = Literal["all", "any"]


class SubAgentManager:
    """All sub-agents and runs of one session."""

    def __init__(
        self,
        session: SessionId,
        services: Services,
        supervisor: Supervisor,
        *,
        kept: Kept,
        team: Team,
    ) -> None:
        """Made by `Sessions.open`, which loads what is passed in."""
        self.session = session
        self._services = services
        self._state = SessionState(kept.record, services)
        self._roster = Roster(kept.agents)
        tell = partial(services.board_changed, session)
        notes = self.notes = SharedContext(
            session, services.store, services.clock, tell_others=tell
        )
        """The notes of the board, for who hears that others have changed them."""
        self._agents = self._agent_desk(notes)
        self.board = self._board_desk(notes)
        """The notice board, for the main agent."""
        self.steering = Steering(services, self._state, self._roster, notes, self._agents)
        """Agents, memories and board, for people."""
        runs = self._runs = self._run_desk(supervisor, kept, team)
        self._delegation = Delegation(session, services, self._roster, runs)
        self._tasks = TaskDesk(session, services, self._runs, self._delegation)
        self.reader = RunReader(services.store, self._runs, self._roster)
        """Runs, groups and names, for those who may read them."""
        self.stopping = Stopping(self._runs, self.reader, self._roster)
        """Stops runs, for models and people."""
        self.guiding = self._guide()
        """Answers, steers and repeats runs, for models and people."""
        log = self.log = TurnLog(session, services, supervisor, kept.lost)
        """What turns do with our tools, and what a restart cut off."""
        runs, agents = self._runs, self._agents
        self.forgetting = Forgetting(runs, self.stopping, agents, self._roster, notes, log)
        """What the platform's reset means here."""
        self._turns = TurnDesk(session, services, agents, self._roster, runs, log)
        self.errands = self._errand_desk()
        """What no turn will take, so that it is to be brought."""

    def _run_desk(self, supervisor: Supervisor, kept: Kept, team: Team) -> RunDesk:
        children, executions = self._preparation(), team.executions
        known = (self.session, self._services, supervisor)
        return RunDesk(*known, day=kept.day, children=children, executions=executions)

    def _agent_desk(self, notes: SharedContext) -> AgentDesk:
        known = (self.session, self._services, self._roster)
        return AgentDesk(*known, unfinished=self._unfinished, board=notes)

    def _guide(self) -> Guiding:
        parts = (self._services, self._roster, self._runs, self._delegation)
        return Guiding(self._runs, self.reader, Repeating(*parts))

    def _errand_desk(self) -> Errands:
        return Errands(
            self.session,
            self._runs,
            self.log,
            has_turn=lambda owner: self._turns.newest(owner) is not None,
            new_id=self._services.clock.new_id,
        )

    def _board_desk(self, notes: SharedContext) -> BoardDesk:
        return BoardDesk(
            notes,
            self._roster,
            settings=self._services.settings,
            switch=lambda: self._state.board_switch,
        )

    def _preparation(self) -> Preparation:
        return Preparation(
            self._services,
            self._agents,
            self._roster,
            self.board,
            session=Lookups(
                # the desks are made after this
                find_turn=lambda turn_id: self._turns.find(turn_id),
                find_run=lambda run_id: self._runs.find(run_id),
                remembers=self._state.remembers,
                ask=lambda run_id, question: self._runs.questions.ask(run_id, question),
            ),
        )

    @property
    def settings(self) -> Settings:
        """The settings of now."""
        return self._services.settings()

    @property
    def runs(self) -> RunDesk:
        """The session's runs; for `Sessions` and for reading."""
        return self._runs

    def is_idle(self) -> bool:
        """Whether nothing of this session needs to stay in memory."""
        return self._turns.is_idle() and self._runs.is_idle() and self.log.is_idle()

    def is_unused_since(self, since: datetime) -> bool:
        """Whether nobody has used the session since then, and nothing of it is going on."""
        return self.is_idle() and self._state.used_at < since

    async def load(self) -> None:
        """Read what is kept of the session beside its agents; `Sessions` calls it once."""
        await self._runs.results.outbox.load()
        await self.notes.load()

    # ---- turns

    def begin_turn(self, turn: Turn) -> None:
        """A user's turn begins."""
        self._state.touch()
        self._turns.begin(turn)

    def carried(self, turn: Turn) -> None:
        """A model request of the turn goes out, with all that the turn was handed so far."""
        self._runs.results.outbox.carry(turn.turn_id)

    async def end_turn(self, turn: Turn, *, end: TurnEnd) -> None:
        """A turn is over, however it ended; calling it twice does nothing.

        Args:
            turn: The turn that `begin_turn` was told of.
            end: How it ended, which decides on its foreground children and on what it was handed.
        """
        if await self._turns.end(turn, self.settings, end=end):
            await self._state.note_activity()

    async def collect(self, turn: Turn, *, most: int = 100) -> list[Run]:
        """Hand the owner's oldest finished results that nobody has had to the head of this turn."""
        runs = await self._runs.results.pending(turn.asker.owner, most)
        return self._turns.hand(runs, turn, passing=True)

    def hand(self, runs: Collection[Run], turn: Turn) -> list[Run]:
        """Give finished results to a turn that is under way.

        Only the owner's own turn takes them: whoever else may read a result takes it from nobody.

        Returns:
            Those that the turn has now and nobody had before.
        """
        return self._turns.hand(runs, turn)

    # ---- agents

    def agents(self, turn: Turn | None = None) -> list[SubAgentConfig]:
        """The session's agents, static ones first.

        Args:
            turn: Leaves out static agents that the turn's persona may not use.
        """
        return [agent for agent in self._roster.all() if turn is None or is_for(agent, turn)]

    def set_static(self, agents: Sequence[StaticAgentSettings]) -> None:
        """Let these be the session's static agents from now on."""
        self._agents.set_static(agents)

    async def create(self, new: NewAgent, turn: Turn) -> SubAgentConfig:
        """Make a dynamic sub-agent, or replace one's own idle one.

        Raises:
            SubAgentError: A bad name or reference, a limit, or an agent that may not be replaced.
        """
        return await self._agents.create(new, turn, self.settings)

    async def remove(self, name: str, asker: Asker) -> SubAgentConfig:
        """Remove one's own dynamic, unprotected, idle agent.

        Raises:
            SubAgentError: It is not there, static, protected, busy, or another's.
        """
        return await self._agents.remove(name, asker)

    async def remove_all(self, asker: Asker) -> tuple[list[SubAgentConfig], list[SubAgentConfig]]:
        """Remove the asker's own dynamic, unprotected agents.

        Returns:
            Those removed, and those left because they are at work.
        """
        return await self._agents.remove_all(asker)

    async def protect(self, name: str, asker: Asker) -> SubAgentConfig:
        """Let an agent outlive its turn."""
        return await self._agents.protect(name, asker, protected=True)

    async def unprotect(self, name: str, asker: Asker) -> SubAgentConfig:
        """Let an agent go at the end of its owner's turn again."""
        return await self._agents.protect(name, asker, protected=False)

    def is_protected(self, name: str) -> bool:
        """Whether the agent outlives the turn; a static one always does."""
        config = self._roster.get(name)
        return config.protected or config.kind is AgentKind.STATIC

    async def reset(self, name: str, asker: Asker) -> SubAgentConfig:
        """Forget an idle agent's memory."""
        return await self._agents.reset(name, asker)

    async def overview(self, turn: Turn | None = None) -> Overview:
        """The agents, as `agents` gives them, with what they are doing, and the free places."""
        configs = self.agents(turn)
        limit = self.settings.dynamic_agents.max_dynamic_subagent_count
        return make_overview(
            configs,
            self._runs,
            memory=await self._services.store.count_messages([c.conversation for c in configs]),
            free_agents=limit - len(self._roster.dynamic()),
        )

    # ---- runs

    async def delegate(
        self,
        name: str,
        task: str,
        turn: Turn,
        *,
        background: bool = False,
        image_urls: Sequence[str] = (),
    ) -> Run:
        """Give an agent a task.

        Returns:
            The run, at work or in the line.

        Raises:
            SubAgentError: No such agent, an empty task, a limit, or a store that cannot write.
        """
        return await self._delegation.start(
            name, task, turn, background=background, image_urls=image_urls
        )

    async def start_tasks(
        self,
        tasks: Sequence[NewTask],
        turn: Turn,
        *,
        background: bool = False,
        fork_context: ForkContexts = no_fork_context,
    ) -> list[Run]:
        """Start the tasks of one call side by side, those without predecessors at once.

        Args:
            tasks: At least one.
            turn: In which turn.
            background: Whether nobody waits for them.
            fork_context: What forks among them begin with.

        Returns:
            The runs, in the order of the tasks, of one group.

        Raises:
            SubAgentError: Something is wrong with a task, the graph, or a limit; nothing started.
        """
        return await self._tasks.start(
            tasks, turn, background=background, fork_context=fork_context
        )

    async def wait(
        self,
        task_ids: Sequence[str],
        turn: Turn,
        *,
        mode: WaitMode = "all",
        timeout_seconds: float,
    ) -> WaitOutcome:
        """Wait for runs and groups; finished runs count as handed to this turn.

        Raises:
            RunNotFound: One is neither a run nor a group of this session.
            NotPermitted: One is another user's, and the asker is no admin.
        """
        ids = [run.run_id for run in await self.reader.runs(task_ids, turn.asker)]
        outcome = await self._runs.wait(
            ids, wait_for_all=mode == "all", timeout_seconds=timeout_seconds
        )
        self.hand(outcome.finished, turn)
        self.show_questions(outcome.unfinished, turn)
        for run in outcome.finished:
            turn.children.discard(run.run_id)
        return outcome

    def show_questions(self, runs: Collection[Run], turn: Turn) -> None:
        """Note that the turn is shown what these runs of its owner ask; others are left out."""
        asking = [
            run.run_id
            for run in runs
            if run.state is RunState.WAITING and run.owner == turn.asker.owner
        ]
        self._runs.questions.show(asking, turn.turn_id)

    def hand_over(self, run_id: RunId, turn: Turn) -> None:
        """Nobody waits for this foreground run any more: it goes on in the background."""
        turn.children.discard(run_id)
        self._runs.hand_over(run_id)

    async def cancel(self, task_id: str, asker: Asker) -> list[Run]:
        """Stop a run, or what is unfinished of a group; see `Stopping.stop`."""
        return await self.stopping.stop(task_id, asker, StopReason.MAIN_AGENT)

    async def cancel_agent(self, name: str, asker: Asker) -> list[Run]:
        """Stop the unfinished runs of an agent; see `Stopping.stop_agent`."""
        return await self.stopping.stop_agent(name, asker, StopReason.MAIN_AGENT)

    async def answer(self, task_id: str, text: str, asker: Asker) -> Run:
        """Answer a run's question; see `Guiding.answer`."""
        return await self.guiding.answer(task_id, text, asker)

    async def result(self, run_id: str, turn: Turn) -> Run:
        """A finished run; reading it counts as handing it over.

        Raises:
            RunNotFound: No such run here.
            NotPermitted: It is another user's.
            RunNotFinished: It is not over yet.
        """
        run = await self.reader.run(run_id, turn.asker)
        if not run.is_over:
            raise RunNotFinished(run.run_id, run.state)
        self.hand([run], turn)
        return run

    async def stop_all(self, reason: StopReason) -> None:
        """Stop every live run of the session and wait for their ends."""
        await self._runs.stopped([run.run_id for run in self._runs.live()], reason)

    def _unfinished(self, name: str) -> list[RunId]:
        return [run.run_id for run in self._runs.live(name)]

    # ---- prompts

    def time_zone(self) -> tzinfo:
        """The time zone in which people and models of this session read times."""
        return self._services.host.time_zone(self.session)

    def router_prompt(self) -> str:
        """What the main agent is told about sub-agents; constant for the same settings."""
        return router_prompt(self.settings)
