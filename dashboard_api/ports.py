"""What the dashboard needs from the platform: its settings, and what agents can be made of.

AstrBot stands behind it in production (`plugin/page_settings.py`, `plugin/page_catalog.py`), the
doubles of `testing.py` in tests.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from ..manager.models import SessionId
from ..manager.settings import StaticAgentSettings

_NAMED_AT_MOST = 20

type FieldRecord = Mapping[str, Any]
"""What a form needs to know of one setting; its shape is `replies_pages.SettingField`."""


class InvalidSettings(Exception):
    """Values that may not be saved; nothing was.

    Attributes:
        fields: What is wrong, by dotted key.
    """

    def __init__(self, fields: Mapping[str, str]) -> None:
        self.fields = dict(fields)
        named = sorted(self.fields)
        more = f" and {len(named) - _NAMED_AT_MOST} more" if len(named) > _NAMED_AT_MOST else ""
        super().__init__("Settings that may not be: " + ", ".join(named[:_NAMED_AT_MOST]) + more)


class SettingsChanged(Exception):
    """Somebody else has saved settings since they were shown; nothing was saved."""

    def __init__(self) -> None:
        super().__init__(
            "Somebody else has saved in the meantime. Look at what is there now, and save again."
        )


class SettingsNotSaved(Exception):
    """The platform could not write the settings; they are as before."""

    def __init__(self, problem: str) -> None:
        self.problem = problem
        super().__init__(f"The settings could not be written: {problem}.")


class SettingsDesk(Protocol):
    """Shows and saves the settings."""

    def values(self) -> Mapping[str, Any]:
        """All settings as JSON, nested as in `Settings`; of a secret only `{"is_set": bool}`.

        Of a list of entries all are shown, with a tag `etag` each; see `save`.
        """
        ...

    def revision(self) -> str:
        """A text that changes whenever a setting does, static agents left out."""
        ...

    def schema(self) -> Sequence[FieldRecord]:
        """What forms are made of, static agents left out."""
        ...

    def problems(self) -> Sequence[tuple[str, str]]:
        """What is wrong with the settings as they are: dotted keys, "" for none, and texts."""
        ...

    def restart_needed(self) -> Sequence[str]:
        """Dotted keys of changed settings that count only after a reload of the plugin."""
        ...

    def save(self, values: Mapping[str, Any], *, seen: str | None = None) -> None:
        """Change some settings; all or none.

        Args:
            values: By dotted key. An entry of a list that comes with its tag, and otherwise as it
                was shown, stays as it stands, even where something in it cannot be used.
            seen: The revision that was shown; None saves whatever stands there now.

        Raises:
            InvalidSettings: A value may not be.
            SettingsChanged: It is another revision now.
            SettingsNotSaved: They could not be written.
        """
        ...

    def static_agents(self) -> Sequence[Mapping[str, Any]]:
        """The configured static agents as JSON, usable or not, with a tag `etag` each."""
        ...

    def static_problems(self) -> Sequence[tuple[str, str]]:
        """What is wrong with them: keys `items.<index>.<key>`, and texts."""
        ...

    def static_revision(self) -> str:
        """A text that changes whenever one of them does."""
        ...

    def static_schema(self) -> Sequence[FieldRecord]:
        """What the form of one static agent is made of."""
        ...

    def save_static(self, items: Sequence[Mapping[str, Any]], *, seen: str | None = None) -> None:
        """Let these be the configured static agents; all or none.

        Args:
            items: In their order; for tags see `save`.
            seen: The revision that was shown; None saves whatever stands there now.

        Raises:
            InvalidSettings: Its keys are `items.<index>.<key>`.
            SettingsChanged: It is another revision now.
            SettingsNotSaved: They could not be written.
        """
        ...


class Catalog(Protocol):
    """What an agent can be made of, as it is now; None instead of a session means any chat."""

    def tools(self, session: SessionId | None) -> Sequence[tuple[str, str]]:
        """Names and descriptions of the tools that a sub-agent may be given."""
        ...

    def skills(self, session: SessionId | None) -> Sequence[str]:
        """Names of the active skills."""
        ...

    def providers(self) -> Sequence[tuple[str, str]]:
        """Ids of the chat providers, and their models."""
        ...

    def personas(self) -> Sequence[str]:
        """Ids of the personas."""
        ...

    def core_agents(self) -> Sequence[StaticAgentSettings]:
        """The platform's own static agents."""
        ...
