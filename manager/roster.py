"""The agents of one session, by name without regard to case; it stores nothing."""

from collections.abc import Iterable

from .errors import AgentNotFound
from .models import AgentKind, SubAgentConfig
from .names import name_key


class Roster:
    """A session's agents: static ones first, then dynamic ones in the order they were made."""

    def __init__(self, agents: Iterable[SubAgentConfig] = ()) -> None:
        self._agents = {name_key(agent.name): agent for agent in agents}

    def all(self) -> list[SubAgentConfig]:
        """Every agent, static ones first."""
        return sorted(self._agents.values(), key=lambda agent: agent.kind is AgentKind.DYNAMIC)

    def find(self, name: str) -> SubAgentConfig | None:
        """The agent of that name, if there is one."""
        return self._agents.get(name_key(name))

    def get(self, name: str) -> SubAgentConfig:
        """The agent of that name.

        Raises:
            AgentNotFound: There is none.
        """
        agent = self.find(name)
        if agent is None:
            raise AgentNotFound(name, [known.name for known in self._agents.values()])
        return agent

    def put(self, config: SubAgentConfig) -> None:
        """Add it, or let it take the place of the one of the same name."""
        key = name_key(config.name)
        old = self._agents.get(key)
        if old is not None and old.created_at != config.created_at:
            # made anew: it stands where it stands once it is loaded from the store
            del self._agents[key]
        self._agents[key] = config

    def drop(self, name: str) -> None:
        """Take it out; a name that is not there is no error."""
        self._agents.pop(name_key(name), None)

    def set_static(self, configs: Iterable[SubAgentConfig]) -> None:
        """Let these be the static agents; none of them may have the name of a dynamic one."""
        dynamic = self.dynamic()
        self._agents = {name_key(config.name): config for config in (*configs, *dynamic)}

    def static(self) -> list[SubAgentConfig]:
        """Agents of the bot's owner."""
        return [agent for agent in self._agents.values() if agent.kind is AgentKind.STATIC]

    def dynamic(self) -> list[SubAgentConfig]:
        """Agents that the main agent made."""
        return [agent for agent in self._agents.values() if agent.kind is AgentKind.DYNAMIC]
