"""In which language people of a chat are answered: as set, else in the script they write in.

AstrBot has no language of its own that plugins could ask for.
"""

from collections.abc import Callable

from ..i18n import Texts, locale_of
from ..manager import SessionId, Settings

_REMEMBERED_AT_MOST = 10_000
_AUTO = "auto"
_DEFAULT = "en-US"
_FEW_WORDS = 2
_COMMAND = ("subagents", "/subagents")
"""Its words are in Latin letters everywhere."""


class Languages:
    """Knows the language of each chat."""

    def __init__(self, settings: Callable[[], Settings]) -> None:
        self._settings = settings
        self._texts = Texts()
        self._heard: dict[SessionId, str] = {}
        """The newest first language of each chat that was heard."""

    def heard(self, session: SessionId, text: str) -> None:
        """Somebody wrote this in a chat."""
        if (locale := locale_of(text)) is None:
            # plain words in Latin letters; a few, or a command of ours, would tell nothing
            words = text.split()
            is_told = len(words) > _FEW_WORDS and words[0] not in _COMMAND
            locale = _DEFAULT if is_told else None
        if locale is None:
            return
        self._heard.pop(session, None)
        self._heard[session] = locale
        while len(self._heard) > _REMEMBERED_AT_MOST:
            del self._heard[next(iter(self._heard))]

    def of(self, session: SessionId) -> str:
        """The language of a chat."""
        language = self._settings().language
        return self._heard.get(session, _DEFAULT) if language == _AUTO else language

    def text(self, key: str, session: SessionId, /, **values: object) -> str:
        """A text in the language of a chat."""
        return self._texts.text(key, locale=self.of(session), **values)
