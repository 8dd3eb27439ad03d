"""Makes a child's request when its run starts: everything is looked up late."""

from collections.abc import Callable

from .agents import AgentDesk
from .board import BoardDesk
from .child_desk import ChildDesk
from .errors import AgentNotFound, InvalidArgument
from .host import AgentRequest, ToolScope
from .memory import Memory, load_memory
from .models import BOT, AgentKind, Persona, Run, RunId, SubAgentConfig, Turn
from .prompts import child_prompt, time_note
from .roster import Roster
from .runs.resume import resume_note
from .services import Services
from .settings import Settings
from .shared_context import BoardReader, SharedContext, board_name
from .workdir import default_workdir, make_workdir


class Preparation:
    """Turns a run into what the host needs to drive it, and tells its child what is new."""

    def __init__(
        self,
        services: Services,
        agents: AgentDesk,
        roster: Roster,
        board: BoardDesk,
        *,
        find_turn: Callable[[str], Turn | None],
        remembers: Callable[[], bool],
    ) -> None:
        """Set it up.

        Args:
            services: The core's surroundings.
            agents: Marks memories and knows the working folders.
            roster: The session's agents.
            board: The session's board.
            find_turn: The turn of an id, while it lives.
            remembers: Whether agents have their memory now.
        """
        self._services = services
        self._agents = agents
        self._roster = roster
        self._board = board
        self._find_turn = find_turn
        self._remembers = remembers
        self._readers: dict[RunId, BoardReader] = {}

    async def request(self, run: Run) -> AgentRequest:
        """The child's request.

        Raises:
            AgentNotFound: The agent was removed while the run stood in the line.
            InvalidArgument: Its working directory or its persona is not there any more.
        """
        settings, remember = self._services.settings(), self._remembers()
        config = self._config(run)
        persona = self._persona(run, config)
        memory = await load_memory(self._services.store, run, settings, enabled=remember)
        member_rights = self._member_rights(run, config)
        if member_rights:
            # also when memory is off: what is written now is read when it is on again
            await self._agents.mark_member_memory(config)
        board = self._board.for_children()
        notes = (*self._notes(run, config, settings, board), await self._resumed(run, memory))
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
            prompt=run.input,
            notes=tuple(note for note in notes if note),
            resume=memory.resume,
            image_urls=run.image_urls,
            tools=_scope(config, persona, settings, with_skills=bool(skills)),
            own_tools=self._services.child_tools(self._desk(run, board, settings)),
            provider_id=config.provider_id or settings.dynamic_agents.default_provider_id,
            origin=run.origin,
            member_rights=member_rights,
            turn=self._find_turn(run.origin.turn_id),
        )

    def news(self, run_id: RunId) -> tuple[str, ...]:
        """What came up on the board since the child's last model call."""
        reader = self._readers.get(run_id)
        news = reader.news() if reader is not None else ""
        return (news,) if news else ()

    def forget(self, run_id: RunId) -> None:
        """The run is over."""
        self._readers.pop(run_id, None)

    async def _resumed(self, run: Run, memory: Memory) -> str:
        if not memory.resume:
            return ""
        steps = await self._services.store.run_steps(run.run_id)
        return resume_note(steps, memory.resume)

    def _desk(self, run: Run, board: SharedContext | None, settings: Settings) -> ChildDesk:
        return ChildDesk(
            run=run,
            board=board,
            board_limit=settings.shared_context_maxlen,
            resolve_target=self._board.target,
        )

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

    def _notes(
        self, run: Run, config: SubAgentConfig, settings: Settings, board: SharedContext | None
    ) -> tuple[str, ...]:
        zone = self._services.host.time_zone(run.session)
        notes = []
        if board is not None:
            reader = BoardReader(board, reader=board_name(config.name), owner=run.owner, zone=zone)
            self._readers[run.run_id] = reader
            notes.append(reader.news())
        if settings.time_prompt_enabled:
            notes.append(time_note(self._services.clock.now().astimezone(zone)))
        return tuple(notes)


def _scope(
    config: SubAgentConfig, persona: Persona | None, settings: Settings, *, with_skills: bool
) -> ToolScope:
    dynamic = settings.dynamic_agents
    is_static = config.kind is AgentKind.STATIC
    return ToolScope(
        assigned=persona.tools if persona else config.tools,
        inherent=() if is_static else dynamic.tools_inherent,
        denied=frozenset(dynamic.tools_blacklist),
        beyond_turn=is_static,
        reads_skills=with_skills,
    )
