"""Makes a child's request when its run starts: everything is looked up late."""

from collections.abc import Callable

from .agents import AgentDesk
from .errors import AgentNotFound
from .host import AgentRequest, ToolScope
from .memory import load_memory
from .models import BOT, AgentKind, OwnerId, Run, SubAgentConfig, Turn
from .prompts import child_prompt, time_note
from .roster import Roster
from .runs.resume import resume_note
from .services import Services
from .settings import Settings
from .workdir import default_workdir, make_workdir


class Preparation:
    """Turns a run into what the host needs to drive it."""

    def __init__(
        self,
        services: Services,
        agents: AgentDesk,
        roster: Roster,
        find_turn: Callable[[OwnerId], Turn | None],
    ) -> None:
        self._services = services
        self._agents = agents
        self._roster = roster
        self._find_turn = find_turn

    async def request(self, run: Run, *, remember: bool) -> AgentRequest:
        """The child's request.

        Raises:
            AgentNotFound: The agent was removed while the run stood in the line.
            InvalidArgument: Its working directory cannot be used any more.
        """
        settings = self._services.settings()
        config = self._config(run)
        memory = await load_memory(self._services.store, run, settings, enabled=remember)
        member_rights = self._member_rights(run, config)
        if member_rights:
            await self._agents.mark_member_memory(config)
        notes = self._notes(run, settings)
        if memory.resume:
            steps = await self._services.store.run_steps(run.run_id)
            notes = (*notes, resume_note(steps, memory.resume))
        return AgentRequest(
            run_id=run.run_id,
            session=run.session,
            agent=config.name,
            system_prompt=self._system_prompt(run, config, settings),
            history=memory.history,
            prompt=run.input,
            notes=tuple(note for note in notes if note),
            resume=memory.resume,
            image_urls=run.image_urls,
            tools=_scope(config, settings),
            provider_id=config.provider_id or settings.dynamic_agents.default_provider_id,
            origin=run.origin,
            member_rights=member_rights,
            turn=self._find_turn(run.owner),
        )

    def _config(self, run: Run) -> SubAgentConfig:
        config = self._roster.get(run.agent) if run.agent is not None else None
        if config is None or config.conversation != run.conversation:
            raise AgentNotFound(run.agent or "", [agent.name for agent in self._roster.all()])
        return config

    def _member_rights(self, run: Run, config: SubAgentConfig) -> bool:
        host = self._services.host
        if not host.is_admin(run.session, run.owner) or config.member_memory:
            return True
        return config.owner != BOT and not host.is_admin(run.session, config.owner)

    def _system_prompt(self, run: Run, config: SubAgentConfig, settings: Settings) -> str:
        services = self._services
        workdir = config.workdir or str(default_workdir(services.files, run.session, config.name))
        return child_prompt(
            config,
            settings,
            workdir=make_workdir(workdir, self._agents.workdir_roots()),
            skills=services.host.skills_prompt(run.session, config.skills),
        )

    def _notes(self, run: Run, settings: Settings) -> tuple[str, ...]:
        if not settings.time_prompt_enabled:
            return ()
        zone = self._services.host.time_zone(run.session)
        return (time_note(self._services.clock.now().astimezone(zone)),)


def _scope(config: SubAgentConfig, settings: Settings) -> ToolScope:
    dynamic = settings.dynamic_agents
    return ToolScope(
        assigned=config.tools,
        inherent=dynamic.tools_inherent if config.kind is AgentKind.DYNAMIC else (),
        denied=frozenset(dynamic.tools_blacklist),
    )
