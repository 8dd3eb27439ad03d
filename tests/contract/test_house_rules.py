"""Rules of CONTRIBUTING.md that no linter knows, checked on the files as they are."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from launcher.data_folder import MARKER

ROOT = Path(__file__).resolve().parents[2]

PACKAGES = ("dashboard_api", "i18n", "manager", "plugin", "subagent_tools")
KNOW_ASTRBOT = (
    "main.py",
    "plugin/",
    "bench/",
    "demo/",
    "tests/e2e/",
    "tests/host/",
    "tests/support/astrbot_",
)
NOT_OURS = re.compile(
    r"^(build|dist|bench/out)/|(^|/)(__pycache__|node_modules|vendor)/|\.egg-info/"
)
"""What tools leave in the tree."""

MOST_LINES_OF_A_FILE = 400
MOST_LINES_OF_A_FUNCTION = 40
MOST_LONG_FUNCTIONS = 5

MUTABLE_CALLS = {
    "Counter",
    "OrderedDict",
    "bytearray",
    "defaultdict",
    "deque",
    "dict",
    "list",
    "set",
}
MUTABLE_NODES = (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp)
MUTABLE_CLASS_VARIABLE = re.compile(r"ClassVar\[(dict|list|set|defaultdict|deque|Counter)\b")

# Put together here, so that this file does not break the rule that it checks.
FOLDERS = "|".join(("tmp", "work", "farm", "root", r"home/(?!user\b|you\b)[a-z]+", r"Users/[a-z]+"))
MACHINE_PATH = re.compile(rf"(?<![\w.}}$])/({FOLDERS})/")
REGISTRY_HOST = re.compile(r"\b(pypi|npmjs|pythonhosted)" + r"\.org\b")


def files(*suffixes: str) -> Iterator[tuple[str, Path]]:
    """Our files with one of the suffixes, as (path from the root, file)."""
    for folder, folders, names in ROOT.walk():
        if MARKER in names:
            # the data of a demo, with a copy of the plugin in it
            folders.clear()
            continue
        # Hidden folders hold environments and caches, but for those with files of ours.
        folders[:] = [
            f for f in folders if f in {".ci", ".astrbot-plugin"} or not f.startswith(".")
        ]
        for name in names:
            file = folder / name
            path = file.relative_to(ROOT).as_posix()
            if not NOT_OURS.search(path) and (file.suffix in suffixes or not suffixes):
                yield path, file


def trees(*places: str) -> Iterator[tuple[str, ast.Module]]:
    """Our Python files in the given places, or everywhere, parsed."""
    for path, file in files(".py"):
        if not places or path.startswith(places):
            yield path, parsed(file)


@cache
def text_of(file: Path) -> str:
    """One file, read once for all tests."""
    return file.read_text("utf-8", "replace")


@cache
def parsed(file: Path) -> ast.Module:
    """One file, parsed once for all tests."""
    return ast.parse(file.read_bytes())


def statements(tree: ast.AST) -> Iterator[ast.stmt]:
    """Every statement of a file. Far fewer nodes than all: none lies within an expression."""
    for _, value in ast.iter_fields(tree):
        for child in value if isinstance(value, list) else ():
            if isinstance(child, ast.stmt):
                yield child
                yield from statements(child)
            elif isinstance(child, ast.ExceptHandler | ast.match_case):
                yield from statements(child)


def imported(tree: ast.Module) -> Iterator[str]:
    """The names of the modules that a file imports absolutely."""
    for node in statements(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield node.module


def lasting_assignments(tree: ast.Module) -> Iterator[ast.Assign | ast.AnnAssign]:
    """The assignments at the level of the module and of its classes."""
    bodies = [tree.body, *(n.body for n in statements(tree) if isinstance(n, ast.ClassDef))]
    for statement in (statement for body in bodies for statement in body):
        if isinstance(statement, ast.Assign | ast.AnnAssign):
            yield statement


def is_mutable(assignment: ast.Assign | ast.AnnAssign) -> bool:
    """Whether an assignment makes something that can be changed later."""
    target = assignment.targets[0] if isinstance(assignment, ast.Assign) else assignment.target
    if isinstance(target, ast.Name) and target.id.startswith("__"):
        return False
    if isinstance(assignment, ast.AnnAssign):
        annotation = ast.unparse(assignment.annotation)
        if MUTABLE_CLASS_VARIABLE.search(annotation):
            return True
    value = assignment.value
    if isinstance(value, ast.Call):
        return ast.unparse(value.func).rpartition(".")[2] in MUTABLE_CALLS
    return isinstance(value, MUTABLE_NODES)


def lines_of(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """The lines of a function without its docstring."""
    first = function.body[0]
    documented = ast.get_docstring(function, clean=False) is not None
    docstring = (first.end_lineno or 0) - first.lineno + 1 if documented else 0
    return (function.end_lineno or 0) - function.lineno + 1 - docstring


def test_no_file_is_longer_than_four_hundred_lines() -> None:
    lengths = {path: len(text_of(file).splitlines()) for path, file in files(".py", ".js")}

    assert {path: n for path, n in lengths.items() if n > MOST_LINES_OF_A_FILE} == {}


def test_only_the_places_that_may_know_astrbot_import_it() -> None:
    importing = {
        path for path, tree in trees() if any(n.split(".")[0] == "astrbot" for n in imported(tree))
    }

    assert {path for path in importing if not path.startswith(KNOW_ASTRBOT)} == set()


@pytest.mark.parametrize("pattern", [MACHINE_PATH, REGISTRY_HOST], ids=["path", "registry"])
def test_no_file_names_a_place_of_one_machine(pattern: re.Pattern[str]) -> None:
    found = [
        f"{path}:{number}: {line.strip()}"
        for path, file in files()
        if file.suffix not in {".png", ".pyc", ".lock"}
        for number, line in enumerate(text_of(file).splitlines(), 1)
        if pattern.search(line)
    ]

    assert found == []


def test_no_module_and_no_class_holds_mutable_state() -> None:
    found = [
        f"{path}:{assignment.lineno}: {ast.unparse(assignment)}"
        for path, tree in trees("main.py", *(f"{package}/" for package in PACKAGES))
        for assignment in lasting_assignments(tree)
        if is_mutable(assignment)
    ]

    assert found == []


def test_no_function_rebinds_a_global() -> None:
    found = [
        f"{path}:{node.lineno}"
        for path, tree in trees()
        for node in statements(tree)
        if isinstance(node, ast.Global)
    ]

    assert found == []


def test_hardly_any_function_is_longer_than_a_screen() -> None:
    found = [
        f"{path}:{node.lineno}: {node.name} has {lines_of(node)} lines"
        for path, tree in trees()
        for node in statements(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and lines_of(node) > MOST_LINES_OF_A_FUNCTION
    ]

    assert len(found) <= MOST_LONG_FUNCTIONS, "\n".join(found)


def test_the_root_module_is_a_docstring_and_nothing_else() -> None:
    tree = ast.parse((ROOT / "__init__.py").read_text("utf-8"))

    assert len(tree.body) == 1
    assert ast.get_docstring(tree)


@pytest.mark.parametrize(
    ("code", "mutable"),
    [
        ("seen = []", True),
        ("seen: dict[str, int] = {}", True),
        ("seen = collections.defaultdict(list)", True),
        ("class Roster:\n    agents: ClassVar[list[str]] = build()", True),
        ("class Roster:\n    agents = {name for name in NAMES}", True),
        ("__all__ = ['Roster']", False),
        ("names = ('a', 'b')", False),
        ("names = frozenset({'a'})", False),
        ("limits = MappingProxyType({'a': 1})", False),
        ("def build():\n    seen = []", False),
        ("class Roster:\n    agents: list[str]", False),
    ],
)
def test_the_check_of_mutable_state_sees(code: str, mutable: bool) -> None:
    found = any(is_mutable(assignment) for assignment in lasting_assignments(ast.parse(code)))

    assert found is mutable
