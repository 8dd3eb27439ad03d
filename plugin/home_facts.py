"""What other processes have to know of a chat of this one to execute its tasks.

AstrBot keeps a chat's choices in its own data folder: which model it uses, which configuration
holds for it. So the chat's home tells them in the origin of each run, and a process that does not
have the same leaves the run to that home.
"""

from dataclasses import replace

from astrbot.api.event import AstrMessageEvent
from astrbot.api.provider import Provider
from astrbot.api.star import Context

from ..manager.models import Origin, SessionId
from .child_provider import current_provider, provider_id
from .persona import find_persona


async def told_to_others(origin: Origin, event: AstrMessageEvent, context: Context) -> Origin:
    """Add to a turn's origin what other processes cannot look up.

    Args:
        origin: What is known of the turn.
        event: Its event.
        context: AstrBot's context for plugins.
    """
    session = event.unified_msg_origin
    # As `_select_provider` in AstrBot's core/astr_main_agent.py: the chat of its WebUI lets the
    # user pick a model for each message.
    picked = str(event.get_extra("selected_provider") or "")
    used = None if picked else await current_provider(session, context)
    return replace(
        origin,
        platform=event.get_platform_name(),
        provider_id=provider_id(used) if isinstance(used, Provider) else picked,
        model=str(event.get_extra("selected_model") or ""),
        profile=_profile(session, context),
    )


def lacking(session: SessionId, origin: Origin, context: Context) -> tuple[str, ...]:
    """What the chat's home had when a run was asked for, and this process has not."""
    missing = []
    if origin.provider_id and not context.get_provider_by_id(origin.provider_id):
        missing.append(f"the model {origin.provider_id}")
    if origin.profile and origin.profile != _profile(session, context):
        missing.append("the chat's own configuration")
    if origin.persona_id and find_persona(context, origin.persona_id) is None:
        missing.append(f"the persona {origin.persona_id}")
    return tuple(missing)


def _profile(session: str, context: Context) -> str:
    return str(context.astrbot_config_mgr.get_conf_info(session)["id"])
