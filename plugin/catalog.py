"""What exists on AstrBot now: tools, skills, personas, chat models, admins, time zone.

It only looks up, and everything anew, so that a change in AstrBot counts at once.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from astrbot.api.star import Context
from astrbot.core.skills.skill_manager import SkillManager, build_skills_prompt
from astrbot.core.utils.astrbot_path import get_astrbot_temp_path

from ..manager.models import Origin, OwnerId, Persona, SessionId, Turn
from ..manager.workdir import session_folder
from .child_event import is_admin_id
from .child_provider import provider_id
from .child_tools import ChildTools
from .home_facts import lacking
from .host_settings import read_agent_settings
from .image_message import message_images
from .images import admit_images
from .persona import find_persona
from .turn_handle import TurnHandle


class AstrBotCatalog:
    """See `Catalog`."""

    def __init__(self, context: Context, tools: ChildTools, *, files: Path) -> None:
        self._context = context
        self._tools = tools
        self._files = files

    def tool_names(self, turn: Turn | None) -> frozenset[str]:
        """See `Catalog.tool_names`."""
        handle = turn.handle if turn is not None else None
        return self._tools.usable_names(
            turn.session if turn is not None else None,
            handle if isinstance(handle, TurnHandle) else None,
        )

    def skill_names(self, turn: Turn | None) -> frozenset[str]:
        """See `Catalog.skill_names`."""
        return self.skills_of(turn.session if turn is not None else None)

    def skills_of(self, session: SessionId | None) -> frozenset[str]:
        """Names of the active skills in a chat; None is the default chat."""
        return frozenset(skill.name for skill in self._skills(session))

    def provider_ids(self) -> frozenset[str]:
        """See `Catalog.provider_ids`."""
        return frozenset(provider_id(each) for each in self._context.get_all_providers())

    def is_admin(self, session: SessionId, owner: OwnerId) -> bool:
        """See `Catalog.is_admin`."""
        return is_admin_id(owner, self._context.get_config(umo=session))

    async def admit_images(self, refs: Sequence[str], turn: Turn) -> tuple[str, ...]:
        """See `Catalog.admit_images`."""
        folder = session_folder(self._files, turn.session)
        handle = turn.handle
        return await admit_images(
            refs,
            message_images=message_images(handle) if isinstance(handle, TurnHandle) else (),
            roots=(folder, Path(get_astrbot_temp_path())),
            folder=folder,
        )

    def lacks(self, session: SessionId, origin: Origin) -> tuple[str, ...]:
        """See `Catalog.lacks`."""
        return lacking(session, origin, self._context)

    def persona(self, session: SessionId, persona_id: str) -> Persona | None:
        """See `Catalog.persona`."""
        # AstrBot has one set of personas for all chats
        return find_persona(self._context, persona_id)

    def skills_prompt(self, session: SessionId, names: tuple[str, ...] | None) -> str:
        """See `Catalog.skills_prompt`."""
        if names is not None and not names:
            return ""
        skills = [each for each in self._skills(session) if names is None or each.name in names]
        return str(build_skills_prompt(skills)) if skills else ""

    def time_zone(self, session: SessionId) -> tzinfo:
        """See `Catalog.time_zone`."""
        # AstrBot has one time zone for all chats, in its main configuration
        name = self._context.get_config().get("timezone")
        try:
            return ZoneInfo(name)
        except (TypeError, ValueError, ZoneInfoNotFoundError):
            return datetime.now().astimezone().tzinfo or UTC

    def _skills(self, session: SessionId | None) -> list[Any]:
        config = self._context.get_config(umo=session)
        runtime = read_agent_settings(config).computer_runtime
        plugins = {star.root_dir_name: star for star in self._context.get_all_stars()}
        return [
            skill
            for skill in SkillManager().list_skills(active_only=True, runtime=runtime)
            if skill.source_type != "plugin"
            or _is_in_profile(plugins.get(skill.plugin_name), config.get("plugin_set", ["*"]))
        ]


def _is_in_profile(plugin: Any, profile: object) -> bool:
    # As `_filter_skills_for_current_config` in AstrBot's core/astr_main_agent.py: a folder of
    # skills is there even when its plugin is switched off.
    if plugin is None or not plugin.activated:
        return False
    return bool(
        plugin.reserved or not isinstance(profile, list) or "*" in profile or plugin.name in profile
    )
