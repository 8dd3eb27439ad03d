"""What an agent may be made of: its folder, and the tools, skills and models that exist now.

Used wherever an agent is made or changed by hand or by a model; configured agents are not checked
here, since what they name may come later.
"""

from collections.abc import Sequence
from pathlib import Path

from .errors import InvalidArgument, UnknownReference
from .models import SessionId, Turn
from .services import Services
from .settings import Settings
from .workdir import checked_workdir, session_folder

ALL = "*"


class AgentChecks:
    """Checks what agents of one session are given."""

    def __init__(self, session: SessionId, services: Services) -> None:
        self._session = session
        self._services = services

    def system_prompt(self, wanted: str) -> str:
        """Instructions as they are kept.

        Raises:
            InvalidArgument: There is nothing in them.
        """
        if not wanted.strip():
            raise InvalidArgument("system_prompt", "must not be empty")
        return wanted

    def workdir(self, wanted: str) -> str:
        """A folder as it is kept; "" stays "".

        Raises:
            InvalidArgument: It is outside the folders in which agents may work.
        """
        if not wanted:
            return ""
        return checked_workdir(wanted, self.workdir_roots(), private=self._services.files)

    def workdir_roots(self) -> tuple[Path, ...]:
        """Folders in which an agent of this session may work."""
        own = session_folder(self._services.files, self._session)
        return (own, *(Path(root) for root in self._services.settings().workdir_roots))

    def references(
        self,
        turn: Turn,
        settings: Settings,
        *,
        tools: Sequence[str] = (),
        skills: Sequence[str] = (),
        provider_id: str = "",
    ) -> None:
        """Refuse what does not exist, or what no agent gets.

        Raises:
            InvalidArgument: A tool that no sub-agent gets.
            UnknownReference: A tool, skill or chat provider that the turn does not know.
        """
        host = self._services.host
        denied = frozenset(settings.dynamic_agents.tools_blacklist)
        if refused := [tool for tool in tools if tool in denied]:
            raise InvalidArgument(
                "tools", f"names tools that no sub-agent gets: {', '.join(refused)}"
            )
        known = host.tool_names(turn) - denied
        _check_known("tool", [tool for tool in tools if tool != ALL], known)
        _check_known("skill", skills, host.skill_names(turn))
        if provider_id:
            _check_known("provider", [provider_id], host.provider_ids())


def _check_known(kind: str, names: Sequence[str], known: frozenset[str]) -> None:
    if unknown := [name for name in names if name not in known]:
        raise UnknownReference(kind, unknown, known)
