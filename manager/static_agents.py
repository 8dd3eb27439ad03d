"""Static agents: those that the bot's owner configured, in one session's roster.

They are set anew at each turn, so that a changed configuration counts at once. What a session keeps
of one is its memory's name and its rights mark; everything else comes from the configuration.
"""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime

from .models import BOT, AgentKind, AgentName, ConversationId, SessionId, SubAgentConfig
from .names import name_key
from .settings import StaticAgentSettings


def static_configs(
    agents: Iterable[StaticAgentSettings],
    kept: Mapping[str, SubAgentConfig],
    *,
    session: SessionId,
    now: datetime,
) -> list[SubAgentConfig]:
    """The session's static agents; of two with the same name the first one counts.

    Args:
        agents: As configured, those that are switched off included.
        kept: What the session has kept of static agents, by name key.
        session: Whose they are.
        now: When an agent that the session has not seen yet came in.
    """
    configs: dict[str, SubAgentConfig] = {}
    for agent in agents:
        key = name_key(agent.name)
        if not agent.enabled or key in configs:
            continue
        config = _config(agent, session=session, now=now)
        if (row := kept.get(key)) is not None:
            config = replace(
                config,
                conversation=row.conversation,
                member_memory=row.member_memory,
                created_at=row.created_at,
            )
        configs[key] = config
    return list(configs.values())


def _config(agent: StaticAgentSettings, *, session: SessionId, now: datetime) -> SubAgentConfig:
    return SubAgentConfig(
        name=AgentName(agent.name),
        system_prompt=agent.system_prompt,
        description=agent.description,
        tools=agent.tools,
        skills=agent.skills,
        workdir=agent.workdir,
        provider_id=agent.provider_id,
        persona_id=agent.persona_id,
        personas=agent.personas,
        kind=AgentKind.STATIC,
        protected=True,
        owner=BOT,
        conversation=_conversation(session, agent.name),
        created_at=now,
    )


def _conversation(session: SessionId, name: str) -> ConversationId:
    """The same name in the same session is the same memory, without anything being stored."""
    text = f"{session}\n{name_key(name)}"
    digest = hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:24]
    return ConversationId(f"static-{digest}")
