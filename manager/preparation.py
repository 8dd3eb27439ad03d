"""Makes a child's request when its run starts: everything is looked up late."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from .agents import AgentDesk
from .board import BoardDesk
from .child_desk import ChildDesk
from .copies import Copies
from .errors import AgentNotFound, InvalidArgument, SubAgentError
from .host import AgentRequest, ChildTool, ToolScope
from .memory import load_memory
from .models import (
    BOT,
    AgentKind,
    GroupId,
    MessageBody,
    Persona,
    Run,
    RunId,
    RunKind,
    SubAgentConfig,
    Turn,
)
from .prompts import child_prompt, time_note
from .roster import Roster
from .runs.resume import resume_note
from .services import Services
from .settings import Settings
from .shared_context import BoardReader, SharedContext, board_name
from .tool_filter import NO_FILTER, find_filter
from .workdir import default_workdir, make_workdir
from .workers.needs import is_pinned, needed_tools


@dataclass(frozen=True, slots=True, kw_only=True)
class Lookups:
    """What is looked up in the session when a run starts."""

    find_turn: Callable[[str], Turn | None]
    """The turn of an id, while it lives."""
    find_run: Callable[[RunId], Awaitable[Run]]
    """A run as it stands."""
    remembers: Callable[[], bool]
    """Whether agents have their memory now."""
    ask: Callable[[RunId, str], Awaitable[str | None]]
    """Lets a run ask its principal; None when nobody answers in time."""


class Preparation:
    """Turns a run into what the host needs to drive it, and tells its child what is new."""

    def __init__(
        self,
        services: Services,
        agents: AgentDesk,
        roster: Roster,
        board: BoardDesk,
        *,
        session: Lookups,
    ) -> None:
        """Set it up.

        Args:
            services: The core's surroundings.
            agents: Marks memories and knows the working folders.
            roster: The session's agents.
            board: The session's board.
            session: What is looked up in the session.
        """
        self._services = services
        self._agents = agents
        self._roster = roster
        self._board = board
        self._lookups = session
        self._copies = Copies(services, session.find_run)
        self._groups: dict[RunId, GroupId] = {}
        """Groups of the unnamed runs at work."""
        self._readers: dict[RunId, BoardReader] = {}

    async def request(self, run: Run) -> AgentRequest:
        """The child's request.

        Raises:
            AgentNotFound: The agent was removed while the run stood in the line.
            InvalidArgument: Its working directory or its persona is not there any more.
            UnknownReference: Its tool filter was removed from the settings meanwhile.
            RunNotFound: What it builds on is not stored any more.
        """
        if run.agent is not None:
            request = await self._of_agent(run)
        else:
            request = await self._of_copy(run)
        turn = self._lookups.find_turn(run.origin.turn_id)
        return replace(request, turn=turn, away=self._services.is_guest)

    async def _of_copy(self, run: Run) -> AgentRequest:
        settings, board = self._services.settings(), self._board.for_children()
        if run.group_id is not None:
            self._groups[run.run_id] = run.group_id
        is_fork = run.kind is RunKind.FORK
        request = await self._copies.request(
            run,
            own_tools=() if is_fork else self._own_tools(run, board, settings),
            notes=() if is_fork else self._notes(run, settings, board),
        )
        notes = (*request.notes, await self._resumed(run, request.resume))
        return replace(request, notes=tuple(note for note in notes if note))

    async def _of_agent(self, run: Run) -> AgentRequest:
        settings, remember = self._services.settings(), self._lookups.remembers()
        config = self._config(run)
        persona = self._persona(run, config)
        memory = await load_memory(self._services.store, run, settings, enabled=remember)
        member_rights = self._member_rights(run, config)
        if member_rights:
            # also when memory is off: what is written now is read when it is on again
            await self._agents.mark_member_memory(config)
        board = self._board.for_children()
        notes = (*self._notes(run, settings, board), await self._resumed(run, memory.resume))
        skills = self._services.host.skills_prompt(
            run.session, persona.skills if persona else config.skills
        )
        return AgentRequest(
            run_id=run.run_id,
            session=run.session,
            agent=config.name,
            system_prompt=child_prompt(
                config,
                settings,
                # as on the platform: a persona without words leaves the agent's own
                instructions=(persona.instructions if persona else "") or config.system_prompt,
                workdir=self._workdir(run, config),
                skills=skills,
            ),
            history=(*memory.history, *(persona.dialogue if persona else ())),
            prompt=await self._copies.prompt(run),
            notes=tuple(note for note in notes if note),
            resume=memory.resume,
            image_urls=run.image_urls,
            tools=_scope(run, config, persona, settings, with_skills=bool(skills)),
            own_tools=self._own_tools(run, board, settings),
            provider_id=config.provider_id or settings.dynamic_agents.default_provider_id,
            origin=run.origin,
            member_rights=member_rights,
        )

    async def news(self, run_id: RunId) -> tuple[str, ...]:
        """What came up on the board since the child's last model call."""
        reader = self._readers.get(run_id)
        news = await reader.fresh_news() if reader is not None else ""
        return (news,) if news else ()

    def scope(self, run: Run) -> ToolScope | None:
        """The tools that a run may have; None: its agent, persona or filter is not there."""
        settings = self._services.settings()
        try:
            if run.agent is None:
                return self._copies.scope(run, settings)
            config = self._config(run)
            return _scope(run, config, self._persona(run, config), settings, with_skills=False)
        except SubAgentError:
            return None

    async def mark(self, run: Run) -> None:
        """Mark the memory of a run's agent where the run has member rights.

        Also when another process executes it: what stands in memory here decides on later rights.

        Raises:
            StoreUnavailable: It could not be stored.
        """
        config = self._roster.find(run.agent) if run.agent is not None else None
        if config is not None and self._member_rights(run, config):
            await self._agents.mark_member_memory(config)

    def lacks(self, run: Run) -> list[str]:
        """What a run needs that is not here but may be at the home of its chat, by name."""
        host, scope = self._services.host, self.scope(run)
        settings = self._services.settings()
        provider = settings.dynamic_agents.default_provider_id
        if run.agent is not None and (config := self._roster.find(run.agent)) is not None:
            provider = config.provider_id or provider
        lacking = [provider] if provider and provider not in host.provider_ids() else []
        lacking += host.lacks(run.session, run.origin)
        if scope is None:
            return [*lacking, run.agent or run.run_id]
        pinned = settings.workers.pinned_tools
        if is_pinned(run, scope, pinned):
            lacking += sorted(needed_tools(run, scope) & set(pinned))
        return lacking + sorted(needed_tools(run, scope) - host.tool_names(None) - set(lacking))

    def forget(self, run_id: RunId) -> None:
        """The run is over."""
        self._readers.pop(run_id, None)
        if self._groups.pop(run_id, None) is not None:
            self._copies.forget(frozenset(self._groups.values()))

    async def _resumed(self, run: Run, recorded: Sequence[MessageBody]) -> str:
        if not recorded:
            return ""
        return resume_note(await self._services.store.run_steps(run.run_id), recorded)

    def _own_tools(
        self, run: Run, board: SharedContext | None, settings: Settings
    ) -> tuple[ChildTool, ...]:
        desk = ChildDesk(
            run=run,
            board=board,
            board_limit=settings.shared_context_maxlen,
            ask_principal=partial(self._lookups.ask, run.run_id)
            if settings.questions_enabled
            else None,
            resolve_target=self._board.target,
        )
        return self._services.child_tools(desk)

    def _config(self, run: Run) -> SubAgentConfig:
        config = self._roster.get(run.agent) if run.agent is not None else None
        if config is None or config.conversation != run.conversation:
            raise AgentNotFound(run.agent or "", [agent.name for agent in self._roster.all()])
        return config

    def _persona(self, run: Run, config: SubAgentConfig) -> Persona | None:
        if not config.persona_id:
            return None
        persona = self._services.host.persona(run.session, config.persona_id)
        if persona is None and not config.system_prompt:
            raise InvalidArgument("persona_id", f"names no persona of the bot: {config.persona_id}")
        return persona

    def _member_rights(self, run: Run, config: SubAgentConfig) -> bool:
        host = self._services.host
        if not host.is_admin(run.session, run.owner) or config.member_memory:
            return True
        return config.owner != BOT and not host.is_admin(run.session, config.owner)

    def _workdir(self, run: Run, config: SubAgentConfig) -> str:
        files = self._services.files
        wanted = config.workdir or str(default_workdir(files, run.session, config.name))
        return make_workdir(wanted, self._agents.workdir_roots(), private=files)

    def _notes(self, run: Run, settings: Settings, board: SharedContext | None) -> tuple[str, ...]:
        zone = self._services.host.time_zone(run.session)
        notes = []
        if board is not None:
            name = board_name(run.agent or run.run_id)
            reader = BoardReader(board, reader=name, owner=run.owner, zone=zone)
            self._readers[run.run_id] = reader
            notes.append(reader.news())
        if settings.time_prompt_enabled:
            notes.append(time_note(self._services.clock.now().astimezone(zone)))
        return tuple(notes)


def _scope(
    run: Run,
    config: SubAgentConfig,
    persona: Persona | None,
    settings: Settings,
    *,
    with_skills: bool,
) -> ToolScope:
    wanted = run.task.tool_filter if run.task else ""
    dynamic = settings.dynamic_agents
    is_static = config.kind is AgentKind.STATIC
    return ToolScope(
        assigned=persona.tools if persona else config.tools,
        inherent=() if is_static else dynamic.tools_inherent,
        denied=frozenset(dynamic.tools_blacklist),
        beyond_turn=is_static,
        reads_skills=with_skills,
        filter=find_filter(wanted, settings.task) if wanted else NO_FILTER,
    )
