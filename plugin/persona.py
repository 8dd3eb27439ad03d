"""Which persona of the bot a turn runs with; a child that outlives its turn is held to it."""

from astrbot.api.event import AstrMessageEvent
from astrbot.api.provider import ProviderRequest
from astrbot.api.star import Context

_NO_PERSONAS = frozenset({"[%None]", "_chatui_default_"})
"""What AstrBot calls a chat without a persona, and the WebUI chat's built-in one."""


async def selected_persona(
    context: Context, event: AstrMessageEvent, request: ProviderRequest
) -> str:
    """Return the id of the persona as AstrBot chose it for this request; "" when there is none."""
    if request.conversation is None:
        return ""
    config = context.get_config(umo=event.unified_msg_origin)
    # As `_ensure_persona_and_skills` in AstrBot's core/astr_main_agent.py asks for it.
    chosen, *_ = await context.persona_manager.resolve_selected_persona(
        umo=event.unified_msg_origin,
        conversation_persona_id=request.conversation.persona_id,
        platform_name=event.get_platform_name(),
        provider_settings=config.get("provider_settings", {}),
    )
    return "" if chosen is None or chosen in _NO_PERSONAS else str(chosen)
