"""The agent desk: making, replacing, protecting, resetting and removing the agents of a session."""

import asyncio
import logging
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from .agent_checks import ALL, AgentChecks
from .errors import (
    AgentBusy,
    AgentNotFound,
    AgentProtected,
    AgentStatic,
    FeatureOff,
    LimitReached,
    NameTaken,
    NotPermitted,
    StoreError,
)
from .events import AgentChanged, AgentCreated, AgentRemoved
from .models import (
    AgentKind,
    Asker,
    ConversationId,
    RunId,
    SessionId,
    SubAgentConfig,
    Turn,
)
from .names import checked_name, name_key, transfer_tool_name
from .roster import Roster
from .runs.shielding import carry_through
from .services import Services
from .settings import Settings, StaticAgentSettings
from .shared_context import SharedContext, board_name
from .static_agents import static_configs

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewAgent:
    """What the main agent, or the page, asks for when it makes a sub-agent."""

    name: str
    system_prompt: str
    description: str = ""
    tools: tuple[str, ...] = ()
    skills: tuple[str, ...] = ()
    workdir: str = ""
    provider_id: str = ""
    protected: bool = False
    replaces: bool = True
    """Whether one's own idle agent of that name gives way to it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentChanges:
    """What is to be changed of an agent; None leaves it as it is."""

    system_prompt: str | None = None
    description: str | None = None
    tools: tuple[str, ...] | None = None
    skills: tuple[str, ...] | None = None
    workdir: str | None = None
    provider_id: str | None = None


class AgentDesk:
    """Changes the roster of one session, in memory and in the store."""

    def __init__(
        self,
        session: SessionId,
        services: Services,
        roster: Roster,
        *,
        unfinished: Callable[[str], list[RunId]],
        board: SharedContext,
    ) -> None:
        """Set the desk up.

        Args:
            session: Whose agents they are.
            services: The core's surroundings.
            roster: The session's agents.
            unfinished: The unfinished runs of an agent by its name.
            board: The session's board; an agent's notes go with the agent.
        """
        self._session = session
        self._services = services
        self._roster = roster
        self._unfinished = unfinished
        self._board = board
        self._checks = AgentChecks(session, services)
        # what the store keeps of static agents: the name of the memory and the rights mark
        self._kept_static = {name_key(agent.name): agent for agent in roster.static()}
        roster.set_static(())
        # one change at a time, so that none is made from an outdated record
        self._changing = asyncio.Lock()

    async def create(self, new: NewAgent, turn: Turn, settings: Settings) -> SubAgentConfig:
        """Make a dynamic agent, or replace one's own idle one of the same name."""
        async with self._changing:
            config = self._checked(new, turn, settings)
            old = self._roster.find(config.name)
            await self._swap(old, config)
            if old is not None and old.name != config.name:
                # another spelling is another tool name: the old tool has to go
                self._publish(AgentRemoved, config=old)
            self._publish(AgentCreated, config=config, replaced=old is not None)
            if old is not None:
                await self._take_notes_away(old)
        return config

    def _checked(self, new: NewAgent, turn: Turn, settings: Settings) -> SubAgentConfig:
        if not settings.dynamic_agents.enabled:
            raise FeatureOff("Making sub-agents", key="dynamic_agents.enabled")
        name = checked_name(new.name, other_tools=self._other_tools(turn))
        system_prompt = self._checks.system_prompt(new.system_prompt)
        self._checks.references(
            turn, settings, tools=new.tools, skills=new.skills, provider_id=new.provider_id
        )
        workdir = self._checks.workdir(new.workdir)
        self._check_place(name, new, turn.asker, settings)
        return SubAgentConfig(
            name=name,
            system_prompt=system_prompt,
            description=new.description,
            tools=new.tools,
            skills=new.skills,
            workdir=workdir,
            provider_id=new.provider_id,
            protected=new.protected,
            owner=turn.asker.owner,
            conversation=ConversationId(self._services.clock.new_id()),
            created_at=self._services.clock.now(),
        )

    def _check_place(self, name: str, new: NewAgent, asker: Asker, settings: Settings) -> None:
        if (old := self._roster.find(name)) is not None:
            if not new.replaces:
                raise NameTaken(name, "another sub-agent of this chat")
            self._check_replaceable(old, asker)
            return
        limit = settings.dynamic_agents.max_dynamic_subagent_count
        if len(self._roster.dynamic()) >= limit:
            raise LimitReached(
                "sub-agents in this chat", limit, key="dynamic_agents.max_dynamic_subagent_count"
            )

    async def edit(
        self, name: str, changes: AgentChanges, turn: Turn, settings: Settings
    ) -> SubAgentConfig:
        """Change one's own idle dynamic agent; memory, name and owner stay.

        With the owner the rights stay as well: an admin who edits a member's agent gives it no more
        than the member may do.
        """
        async with self._changing:
            old = self._owned(name, turn.asker)
            self._check_idle(old)
            self._checks.references(
                turn,
                settings,
                tools=changes.tools or (),
                skills=changes.skills or (),
                provider_id=changes.provider_id or "",
            )
            new = replace(
                old, **{key: value for key, value in asdict(changes).items() if value is not None}
            )
            self._checks.system_prompt(new.system_prompt)
            if changes.workdir is not None:
                new = replace(new, workdir=self._checks.workdir(changes.workdir))
            return old if new == old else await self._change(old, new, "edited")

    def set_static(self, agents: Iterable[StaticAgentSettings]) -> None:
        """Let these be the session's static agents from now on.

        A dynamic agent keeps its name, its memory and its work until it goes: a static namesake
        comes in after that. While an agent is being changed all stays as it is until the next turn.
        """
        if self._changing.locked():
            return
        now = self._services.clock.now()
        configs = [
            config
            for config in static_configs(agents, self._kept_static, session=self._session, now=now)
            if (namesake := self._roster.find(config.name)) is None
            or namesake.kind is AgentKind.STATIC
        ]
        before = {config.name: config for config in self._roster.static()}
        self._roster.set_static(configs)
        for config in configs:
            if config.name not in before:
                self._publish(AgentCreated, config=config)
        for name in before.keys() - {config.name for config in configs}:
            self._publish(AgentRemoved, config=before[name])

    async def remove(self, name: str, asker: Asker) -> SubAgentConfig:
        """Remove one's own dynamic, unprotected, idle agent."""
        async with self._changing:
            config = self._owned(name, asker)
            if config.protected:
                raise AgentProtected(config.name)
            self._check_idle(config)
            await self._drop(config)
        return config

    async def remove_all(self, asker: Asker) -> tuple[list[SubAgentConfig], list[SubAgentConfig]]:
        """Remove the asker's own dynamic, unprotected agents; see `SubAgentManager.remove_all`."""
        removed: list[SubAgentConfig] = []
        busy: list[SubAgentConfig] = []
        for config in self._roster.dynamic():
            if config.owner == asker.owner and not config.protected:
                gone = await self.clear_away(config)
                (removed if gone else busy).append(config)
        return removed, busy

    async def clear_away(self, config: SubAgentConfig) -> bool:
        """Remove an agent unless it is at work, protected or another one by now.

        Returns:
            Whether it was removed.
        """
        async with self._changing:
            now = self._roster.find(config.name)
            if now is None or now.conversation != config.conversation:
                return False
            if now.protected or self._unfinished(now.name):
                return False
            await self._drop(now)
        return True

    async def _drop(self, config: SubAgentConfig) -> None:
        """Take an agent and its memory away; its runs and their results stay."""
        await self._swap(config, None)
        self._publish(AgentRemoved, config=config)
        await self._take_notes_away(config)

    async def _take_notes_away(self, config: SubAgentConfig) -> None:
        """Clear an agent's notes once its memory is gone; notes that stay hurt nobody."""
        try:
            await self._board.clear(sender=board_name(config.name))
        except StoreError:
            logger.exception("The notes of sub-agent %s could not be deleted", config.name)

    async def protect(self, name: str, asker: Asker, *, protected: bool) -> SubAgentConfig:
        """Let an agent outlive the turn, or not."""
        async with self._changing:
            config = self._owned(name, asker)
            if config.protected == protected:
                return config
            change = "protected" if protected else "unprotected"
            return await self._change(config, replace(config, protected=protected), change)

    async def reset(self, name: str, asker: Asker) -> SubAgentConfig:
        """Forget the memory of one's own idle agent.

        A static one's memory belongs to everyone in the chat: in a group an admin resets it.
        """
        async with self._changing:
            config = self._roster.get(name)
            if config.kind is AgentKind.DYNAMIC:
                config = self._owned(name, asker)
            elif not (asker.is_admin or asker.is_alone):
                raise NotPermitted(f"The memory of sub-agent {config.name!r}")
            self._check_idle(config)
            fresh = replace(
                config,
                conversation=ConversationId(self._services.clock.new_id()),
                # what a member wrote is gone; only an admin's word lifts the rights again
                member_memory=config.member_memory and not asker.is_admin,
            )
            # at once, so that no run begins with the memory that is about to go
            changed = await self._change(config, fresh, "reset")
            await self._take_notes_away(config)
        return changed

    async def wipe(self, config: SubAgentConfig) -> bool:
        """Forget an agent's memory unless it is at work, another one by now, or has none.

        Returns:
            Whether there was something to forget.
        """
        async with self._changing:
            now = self._roster.find(config.name)
            if now is None or now.conversation != config.conversation:
                return False
            counts = await self._services.store.count_messages([now.conversation])
            if self._unfinished(now.name) or not counts.get(now.conversation):
                return False
            fresh = replace(now, conversation=ConversationId(self._services.clock.new_id()))
            await self._change(now, fresh, "reset")
        return True

    async def mark_member_memory(self, config: SubAgentConfig) -> None:
        """A run with member rights is about to write to the memory.

        Raises:
            AgentNotFound: The agent went, or got another memory, meanwhile.
        """
        async with self._changing:
            now = self._roster.get(config.name)
            if now.conversation != config.conversation:
                raise AgentNotFound(config.name, [agent.name for agent in self._roster.all()])
            if not now.member_memory:
                await self._change(now, replace(now, member_memory=True), "member_memory")

    def workdir_roots(self) -> tuple[Path, ...]:
        """Folders in which an agent of this session may work."""
        return self._checks.workdir_roots()

    async def _change(
        self, old: SubAgentConfig, new: SubAgentConfig, change: str
    ) -> SubAgentConfig:
        await self._swap(old, new)
        self._publish(AgentChanged, config=new, change=change)
        return new

    async def _swap(self, old: SubAgentConfig | None, new: SubAgentConfig | None) -> None:
        """Put one record in another's place; when it cannot be stored, all is as before.

        In memory it is done at once, so that no run begins with what is about to go.
        """
        self._enter(old, new)
        try:
            _, cancelled = await carry_through(self._store(old, new))
        except BaseException:
            self._enter(new, old)
            raise
        if cancelled:
            raise asyncio.CancelledError

    def _enter(self, old: SubAgentConfig | None, new: SubAgentConfig | None) -> None:
        if new is not None:
            self._roster.put(new)
            if new.kind is AgentKind.STATIC:
                self._kept_static[name_key(new.name)] = new
        elif old is not None:
            self._roster.drop(old.name)

    async def _store(self, old: SubAgentConfig | None, new: SubAgentConfig | None) -> None:
        store = self._services.store
        if old is not None and (new is None or new.conversation != old.conversation):
            await store.delete_agent(self._session, old)
        if new is not None:
            await store.save_agent(self._session, new)

    def _owned(self, name: str, asker: Asker) -> SubAgentConfig:
        config = self._roster.get(name)
        if config.kind is AgentKind.STATIC:
            raise AgentStatic(config.name)
        if config.owner != asker.owner and not asker.is_admin:
            raise NotPermitted(f"Sub-agent {config.name!r}")
        return config

    def _check_idle(self, config: SubAgentConfig) -> None:
        if run_ids := self._unfinished(config.name):
            raise AgentBusy(config.name, run_ids)

    def _check_replaceable(self, old: SubAgentConfig, asker: Asker) -> None:
        self._owned(old.name, asker)
        if old.owner != asker.owner:
            # an admin may remove it, but not slip another agent under a member's name
            raise NotPermitted(f"Sub-agent {old.name!r}")
        if old.protected:
            raise AgentProtected(old.name)
        self._check_idle(old)

    def _other_tools(self, turn: Turn) -> frozenset[str]:
        own = {transfer_tool_name(agent.name) for agent in self._roster.all()}
        return self._services.host.tool_names(turn) - own

    def _publish(
        self, kind: type[AgentCreated | AgentChanged | AgentRemoved], **fields: object
    ) -> None:
        at = self._services.clock.now()
        self._services.bus.publish(kind(session=self._session, at=at, **fields))  # type: ignore[arg-type] # fields of the three kinds differ


__all__ = ["ALL", "AgentChanges", "AgentDesk", "NewAgent"]
