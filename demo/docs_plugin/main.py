"""A demo plugin with one read-only tool that searches this project's own documentation.

It is loaded by `make run` only. The folder to search is handed over in an environment variable.
"""

import os
from pathlib import Path
from typing import Any

from astrbot.api import FunctionTool, logger
from astrbot.api.star import Context, Star
from astrbot.core.agent.run_context import ContextWrapper
from astrbot.core.astr_agent_context import AstrAgentContext
from pydantic import Field
from pydantic.dataclasses import dataclass

from .ranking import Index, Section, sections_of

FOLDER_VARIABLE = "SUBAGENTS_DEMO_DOCS"
PATTERNS = ("README*.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/**/*.md")
MAX_SECTIONS = 8
MAX_SECTION_CHARACTERS = 1600
DEFAULT_SECTIONS = 3


@dataclass
class SearchProjectDocs(FunctionTool[AstrAgentContext]):
    """The tool `search_project_docs`; it reads the files anew at each call, they are few."""

    name: str = "search_project_docs"
    description: str = (
        "Searches the documentation of the sub-agents plugin (read-only). Returns the sections "
        "that fit the key words best, each with its source as path#heading."
    )
    parameters: dict[str, Any] = Field(
        default_factory=lambda: {
            "type": "object",
            "properties": {
                "query": {"type": "string", "description": "Key words, in English."},
                "limit": {
                    "type": "integer",
                    "description": f"How many sections, 1 to {MAX_SECTIONS}.",
                    "default": DEFAULT_SECTIONS,
                },
            },
            "required": ["query"],
        }
    )
    folder: str = ""

    async def call(
        self,
        context: ContextWrapper[AstrAgentContext],
        query: str = "",
        limit: int = DEFAULT_SECTIONS,
        **_: object,
    ) -> str:
        """Return the best sections as text."""
        if not isinstance(query, str) or not query.strip():
            return "Error: `query` is empty. Give the key words to look for."
        count = limit if isinstance(limit, int) else DEFAULT_SECTIONS
        sections = _read(Path(self.folder))
        if not sections:
            return f"Error: no documentation was found in {self.folder or FOLDER_VARIABLE}."
        best = Index(sections).best(query, max(1, min(count, MAX_SECTIONS)))
        if not best:
            return f"No section holds any of the words: {query}"
        return "\n\n".join(f"source: {each.source}\n{_cut(each.text)}" for each in best)


class DemoDocs(Star):
    """Registers the tool."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        folder = os.environ.get(FOLDER_VARIABLE, "")
        if not folder:
            logger.warning("%s is not set: the documentation cannot be searched", FOLDER_VARIABLE)
        self.context.add_llm_tools(SearchProjectDocs(folder=folder))


def _read(folder: Path) -> list[Section]:
    paths = sorted({path for pattern in PATTERNS for path in folder.glob(pattern)})
    return [
        section
        for path in paths
        if path.is_file()
        for section in sections_of(
            path.relative_to(folder).as_posix(), path.read_text(encoding="utf-8", errors="replace")
        )
    ]


def _cut(text: str) -> str:
    if len(text) <= MAX_SECTION_CHARACTERS:
        return text
    return text[:MAX_SECTION_CHARACTERS].rsplit("\n", 1)[0] + "\n..."
