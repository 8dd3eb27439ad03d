"""What the documents say of the tree holds: names in the code, links, verbs, tools, settings."""

import ast
import re
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from astrbot_plugin_subagents.manager import DynamicAgentSettings, Settings
from astrbot_plugin_subagents.manager.child_desk import ChildDesk
from astrbot_plugin_subagents.manager.settings import (
    MANAGEMENT_TOOLS,
    CustomFilterSettings,
    DeliverySettings,
    RetentionSettings,
    StaticAgentSettings,
    TaskSettings,
)
from astrbot_plugin_subagents.manager.shared_context import SharedContext
from astrbot_plugin_subagents.manager.store import MemoryStore
from astrbot_plugin_subagents.manager.testing import FakeClock
from astrbot_plugin_subagents.subagent_tools import child_tools, management_tools
from support import stores

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("dashboard_api", "i18n", "manager", "plugin", "subagent_tools")
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])

IN_CODE = re.compile(r"`((?:[\w-]+/)*[\w-]+\.py)(?::([\w.]+))?`")
"""`path/file.py` or `path/file.py:Name.name`."""
METHOD = re.compile(r"`([A-Z]\w+\.\w+)`")
LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


def name_of(file: Path) -> str:
    return file.relative_to(ROOT).as_posix()


def names_in(tree: ast.Module | ast.ClassDef, before: str = "") -> Iterator[str]:
    """Every function, class and method of a file, dotted."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield f"{before}{node.name}"
        if isinstance(node, ast.ClassDef):
            yield from names_in(node, f"{before}{node.name}.")


def names_of(path: Path) -> set[str]:
    return set(names_in(ast.parse(path.read_text("utf-8"))))


def package_files() -> list[Path]:
    return [file for package in PACKAGES for file in (ROOT / package).rglob("*.py")]


def fields_read(file: Path) -> set[str]:
    """Every attribute that a file reads."""
    nodes = ast.walk(ast.parse(file.read_text("utf-8")))
    return {node.attr for node in nodes if isinstance(node, ast.Attribute)}


def anchors_of(document: Path) -> set[str]:
    """The anchors of a document's headings, as GitHub makes them."""
    headings = HEADING.findall(FENCED.sub("", document.read_text("utf-8")))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def sections(document: str) -> dict[str, str]:
    """Heading -> text, for the second level of a document."""
    parts = re.split(r"^## (.+)$", (ROOT / document).read_text("utf-8"), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


@pytest.mark.parametrize("document", DOCUMENTS, ids=name_of)
def test_every_file_and_function_that_a_document_names_exists(document: Path) -> None:
    named = IN_CODE.findall(document.read_text("utf-8"))

    # a bare file name may be one of another project
    missing = [
        f"{path}:{name}"
        for path, name in named
        if ("/" in path and not (ROOT / path).is_file())
        or (name and name not in names_of(ROOT / path))
    ]

    assert missing == []


def test_the_main_path_names_functions() -> None:
    named = IN_CODE.findall(sections("ARCHITECTURE.md")["The main path"])

    assert len([name for _, name in named if name]) > 20


def test_every_method_that_the_architecture_names_exists() -> None:
    named = set(METHOD.findall((ROOT / "ARCHITECTURE.md").read_text("utf-8")))
    known = set().union(*map(names_of, [*package_files(), ROOT / "main.py"]))

    assert named
    assert named - known == set()


def test_the_table_of_packages_is_the_tree() -> None:
    block = FENCED.search((ROOT / "ARCHITECTURE.md").read_text("utf-8"))
    assert block is not None
    listed: list[str] = []
    outer = ""
    for line in block[0].splitlines()[1:-1]:
        place = line.split()[0]
        inside = line.startswith("  ")
        outer = outer if inside else place
        listed.append(f"{outer}{place}" if inside else place)

    packages = {f"{file.parent.name}/" for file in ROOT.glob("*/__init__.py")}
    inner = {
        f"{package}/{file.parent.name}/"
        for package in PACKAGES
        for file in (ROOT / package).glob("*/__init__.py")
    }

    assert [place for place in listed if not (ROOT / place).exists()] == []
    assert packages | inner <= set(listed)


@pytest.mark.parametrize("document", DOCUMENTS, ids=name_of)
def test_every_relative_link_leads_somewhere(document: Path) -> None:
    broken = []
    for link in LINK.findall(document.read_text("utf-8")):
        if "://" in link:
            continue
        path, _, anchor = link.partition("#")
        target = document.parent / path if path else document
        if not target.exists() or (anchor and anchor not in anchors_of(target)):
            broken.append(link)

    assert broken == []


@pytest.mark.parametrize("document", ["README.md", "CONTRIBUTING.md"])
def test_every_verb_that_a_document_names_is_one_of_make(document: str) -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    verbs = set(re.findall(r"^([a-z0-9]+): ##", makefile, re.MULTILINE))
    named = set(re.findall(r"[`\n]make ([a-z0-9]+)", (ROOT / document).read_text("utf-8")))

    assert named
    assert named <= verbs


def headed_tools() -> set[str]:
    """The tools that have a heading in docs/tools.md."""
    return {name for heading in sections("docs/tools.md") for name in heading.split(", ")}


def both_handoffs() -> list[Settings]:
    return [
        Settings(dynamic_agents=DynamicAgentSettings(handoff=handoff))
        for handoff in ("per_agent", "single")
    ]


async def nobody_answers(question: str) -> None:
    """Lets the question be in vain."""


def a_childs_tools() -> set[str]:
    desk = ChildDesk(
        run=stores.a_run(),
        board=SharedContext(stores.CHAT, MemoryStore(), FakeClock()),
        board_limit=10,
        resolve_target=lambda wanted: wanted,
        ask_principal=nobody_answers,
    )
    return {tool.name for tool in child_tools(desk)}


def test_no_sub_agent_gets_a_tool_of_the_main_model_unless_it_is_told_so() -> None:
    tools = {tool.name for settings in both_handoffs() for tool in management_tools(settings)}

    assert tools == set(MANAGEMENT_TOOLS)
    assert a_childs_tools().isdisjoint(MANAGEMENT_TOOLS)


def test_every_tool_has_a_heading_and_every_heading_is_a_tool() -> None:
    assert headed_tools() == {*MANAGEMENT_TOOLS, *a_childs_tools(), "transfer_to_<name>"}


def names_in_schema(schema: dict[str, Any]) -> Iterator[str]:
    """Every parameter, and those of the objects in a list."""
    for name, parameter in schema.get("properties", {}).items():
        yield name
        yield from names_in_schema(parameter.get("items", {}))


def test_every_parameter_of_a_tool_is_named_under_its_heading() -> None:
    texts = {
        name: text
        for heading, text in sections("docs/tools.md").items()
        for name in heading.split(", ")
    }
    missing = [
        f"{tool.name}: {parameter}"
        for tool in management_tools(both_handoffs()[1])
        for parameter in names_in_schema(tool.parameters)
        if f"`{parameter}`" not in texts[tool.name]
    ]

    assert missing == []


def setting_names() -> set[str]:
    kinds = (
        Settings,
        DynamicAgentSettings,
        StaticAgentSettings,
        TaskSettings,
        CustomFilterSettings,
        DeliverySettings,
        RetentionSettings,
    )
    return {field.name for kind in kinds for field in fields(kind)}


def test_every_setting_is_read_somewhere() -> None:
    read_in = [file for file in package_files() if file.name not in {"settings.py", "config.py"}]
    read = set().union(*map(fields_read, read_in))

    assert setting_names() - read == set()


def test_every_setting_is_named_in_the_page_of_settings() -> None:
    text = (ROOT / "docs/configuration.md").read_text("utf-8")

    assert {name for name in setting_names() if not re.search(rf"\b{name}\b", text)} == set()
