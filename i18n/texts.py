"""Finds a text by its key and language, and guesses a language from what somebody wrote."""

import json
import re
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

LOCALES = ("en-US", "zh-CN", "ru-RU")
_CHINESE = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]")
_RUSSIAN = re.compile("[\u0400-\u04ff]")


class Texts:
    """All texts, read once."""

    def __init__(self) -> None:
        folder = Path(__file__).parent
        self._texts: Mapping[str, Mapping[str, str]] = MappingProxyType(
            {
                locale: MappingProxyType(json.loads((folder / f"{locale}.json").read_text("utf-8")))
                for locale in LOCALES
            }
        )

    def text(self, key: str, /, *, locale: str, **values: object) -> str:
        """A text with its values put in; those are never read as text with places of their own.

        Args:
            key: As in the files, such as `state.completed`.
            locale: One of `LOCALES`; any other is English.
            values: What the text's places hold.

        Raises:
            KeyError: There is no such text, or a value is missing.
        """
        texts = self._texts.get(locale, self._texts["en-US"])
        return texts[key].format_map(values)


def locale_of(text: str) -> str | None:
    """The language that somebody wrote in, by its script; None when it tells nothing.

    Latin letters tell nothing: commands and names are written in them everywhere.
    """
    chinese, russian = len(_CHINESE.findall(text)), len(_RUSSIAN.findall(text))
    if not chinese and not russian:
        return None
    return "zh-CN" if chinese >= russian else "ru-RU"
