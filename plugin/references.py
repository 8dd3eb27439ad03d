"""Names in the configuration that AstrBot knows nothing of: models and personas.

They may appear later, so nothing is changed; each is named in the log. Nothing here knows AstrBot.
"""

from collections.abc import Iterator

from ..manager import Settings

_PROVIDER = "the id of a chat provider or an empty text"
_PERSONA = "the id of a persona or an empty text"


def unknown_references(
    settings: Settings, *, providers: frozenset[str], personas: frozenset[str]
) -> Iterator[str]:
    """Tell of each name that is not there, in one line for the log.

    Args:
        settings: The settings in use.
        providers: Ids of the chat providers.
        personas: Ids of the personas of the bot.
    """
    for key, takes, wanted, known in _named(settings, providers, personas):
        if wanted and wanted not in known:
            listed = ", ".join(sorted(known)) or "none"
            yield f"{key} takes {takes}; known: {listed}. Tasks that use it will fail."
    for agent in settings.static_agents:
        if agent.enabled and not personas.issuperset(agent.personas):
            yield (
                f"`personas` of the static agent `{agent.name}` takes ids of personas; known: "
                f"{', '.join(sorted(personas))}. It can be used by those of the list that exist."
            )


def _named(
    settings: Settings, providers: frozenset[str], personas: frozenset[str]
) -> Iterator[tuple[str, str, str, frozenset[str]]]:
    """Each key that names one thing: the key, what it takes, its value, what there is."""
    default = settings.dynamic_agents.default_provider_id
    yield "`dynamic_agents.default_provider_id`", _PROVIDER, default, providers
    for agent in settings.static_agents:
        if agent.enabled:
            owner = f"of the static agent `{agent.name}`"
            yield f"`provider_id` {owner}", _PROVIDER, agent.provider_id, providers
            if not agent.system_prompt:
                # with instructions of its own it works without the persona
                yield f"`persona_id` {owner}", _PERSONA, agent.persona_id, personas
