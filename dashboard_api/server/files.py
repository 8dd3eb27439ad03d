"""The page's files: those of one folder, by their own names, and nothing else of the machine."""

import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

_INDEX = "index.html"
_PART = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]*")
"""A part of a path: no dot in front, nothing that any system takes for a separator."""

_TYPES: Mapping[str, str] = MappingProxyType(
    {
        ".css": "text/css; charset=utf-8",
        ".html": "text/html; charset=utf-8",
        ".ico": "image/x-icon",
        ".js": "text/javascript; charset=utf-8",
        ".json": "application/json; charset=utf-8",
        ".mjs": "text/javascript; charset=utf-8",
        ".png": "image/png",
        ".svg": "image/svg+xml",
        ".txt": "text/plain; charset=utf-8",
        ".woff2": "font/woff2",
    }
)
"""What a page is made of; files of other kinds are not given out."""


class PageFiles:
    """Finds the page's files."""

    def __init__(self, folder: Path) -> None:
        """Set it up.

        Args:
            folder: Holds `index.html`.
        """
        self._folder = folder.resolve()

    def find(self, path: str) -> tuple[Path, str] | None:
        """Look a file up.

        Args:
            path: Of the URL, decoded; "/" is the page itself.

        Returns:
            The file and its content type; None when there is none that may be seen.
        """
        parts = path.removeprefix("/").split("/") if path != "/" else [_INDEX]
        if not all(_PART.fullmatch(part) for part in parts):
            return None
        content_type = _TYPES.get(Path(parts[-1]).suffix.lower())
        if content_type is None:
            return None
        try:
            file = self._folder.joinpath(*parts).resolve()
            is_there = file.is_relative_to(self._folder) and file.is_file()
        except OSError:
            # a path that no file system takes, being too long
            return None
        return (file, content_type) if is_there else None
