"""The page's files keep what makes it safe: no markup from texts, and nothing from elsewhere."""

import hashlib
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[2] / "pages" / "subagents"
VENDOR = PAGE / "vendor"
SCRIPTS = sorted(file for file in PAGE.rglob("*.js") if VENDOR not in file.parents)
STYLES = sorted(PAGE.rglob("*.css"))

COMMENT = re.compile(r"/\*.*?\*/|(?<![:\w])//[^\n]*", re.DOTALL)
IMPORTED = re.compile(r"""(?:\bfrom|\bimport|\bimport\()\s*["']([^"']+)["']""")

MAKES_MARKUP = re.compile(
    r"innerHTML|outerHTML|insertAdjacentHTML|v-html|document\.write|DOMParser|srcdoc"
    r"|createContextualFragment|setHTML"
)
RUNS_TEXT = re.compile(
    r"\beval\s*\(|\bnew\s+Function\b|set(?:Timeout|Interval)\(\s*[\"'`]|javascript:"
)
ELSEWHERE = re.compile(r"(?:https?|wss?):\\?/\\?/|[\"'(]//\w")
NAMESPACE = "http://www.w3.org/2000/svg"
ASKS_PAST_THE_CLIENT = re.compile(r"\bfetch\(|XMLHttpRequest|EventSource|WebSocket|sendBeacon")
CLIENT = "app/client_http.js"
"""The one file that talks to a server; within AstrBot its bridge does."""


def code_of(file: Path) -> str:
    """A script or style without its comments."""
    return COMMENT.sub("", file.read_text("utf-8"))


def places(pattern: re.Pattern[str], files: list[Path]) -> list[str]:
    """Where the code of files has what a pattern describes."""
    return [
        f"{file.relative_to(PAGE).as_posix()}: {line.strip()}"
        for file in files
        for line in code_of(file).splitlines()
        if pattern.search(line.replace(NAMESPACE, ""))
    ]


class Markup(HTMLParser):
    """What an HTML file has in it."""

    def __init__(self) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.inline: list[str] = []
        self._in = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._in = tag
        for name, value in attrs:
            if name in {"src", "href"}:
                self.loaded.append(value or "")
            elif name == "style" or name.startswith("on"):
                self.inline.append(f"{tag} {name}")

    def handle_data(self, data: str) -> None:
        if self._in in {"script", "style"} and data.strip():
            self.inline.append(f"{self._in}: {data.strip()}")

    def handle_endtag(self, tag: str) -> None:
        self._in = ""


@pytest.mark.parametrize(
    ("pattern", "files"),
    [
        (MAKES_MARKUP, SCRIPTS),
        (RUNS_TEXT, SCRIPTS),
        (ELSEWHERE, [*SCRIPTS, *STYLES]),
        (ASKS_PAST_THE_CLIENT, [file for file in SCRIPTS if file != PAGE / CLIENT]),
    ],
    ids=["markup", "code", "elsewhere", "requests"],
)
def test_no_file_does_what_the_page_may_not(pattern: re.Pattern[str], files: list[Path]) -> None:
    assert len(files) > 10
    assert places(pattern, files) == []


def test_the_frame_of_the_page_has_no_code_and_no_style_in_it() -> None:
    # The server's policy for contents allows neither.
    markup = Markup()
    markup.feed((PAGE / "index.html").read_text("utf-8"))

    assert markup.inline == []
    assert [each for each in markup.loaded if not (PAGE / each).is_file()] == []


def test_whatever_a_script_imports_is_there() -> None:
    imports = [(file, name) for file in SCRIPTS for name in IMPORTED.findall(code_of(file))]

    # AstrBot rewrites imports by what stands there, so only whole relative names are found.
    assert [name for _, name in imports if not name.startswith(("./", "../"))] == []
    assert [name for file, name in imports if not (file.parent / name).is_file()] == []


def test_every_script_and_style_is_used() -> None:
    index = Markup()
    index.feed((PAGE / "index.html").read_text("utf-8"))
    used = {(PAGE / each).resolve() for each in index.loaded}
    for file in SCRIPTS:
        used |= {(file.parent / each).resolve() for each in IMPORTED.findall(code_of(file))}
    only_types = {PAGE / "app" / "types.js"}

    assert {*SCRIPTS, *STYLES} - used - only_types == set()


def test_the_vendored_files_are_what_was_vendored() -> None:
    lines = (VENDOR / "SHA256SUMS").read_text("utf-8").splitlines()
    sums = {name: checksum for checksum, name in (line.split() for line in lines)}
    found = {
        file.name: hashlib.sha256(file.read_bytes()).hexdigest()
        for file in VENDOR.iterdir()
        if file.name not in {"SHA256SUMS", "README.md"}
    }

    assert found == sums


def test_each_vendored_library_stands_in_the_table_with_its_licence() -> None:
    table = (VENDOR / "README.md").read_text("utf-8")
    names = [file.name for file in VENDOR.iterdir() if file.suffix in {".js", ".css"}]
    licences = [file.name for file in VENDOR.iterdir() if file.name.startswith("LICENSE")]

    assert [name for name in (*names, *licences) if f"`{name}`" not in table] == []
    assert len(licences) >= len(names)


EXPORTED = re.compile(r"^export (?:async )?(?:const|let|function|class) (\w+)", re.MULTILINE)
FROM_ELSEWHERE = re.compile(r"import \{([^}]*)\}")


@pytest.mark.parametrize("file", SCRIPTS, ids=lambda file: file.relative_to(PAGE).as_posix())
def test_a_module_imports_what_it_uses_of_others(file: Path) -> None:
    code = code_of(file)
    imported = {
        name.split(" as ")[-1].strip()
        for names in FROM_ELSEWHERE.findall(code)
        for name in names.split(",")
    }
    exported = {name for each in SCRIPTS for name in EXPORTED.findall(code_of(each))}

    used = {name for name in exported - imported if _is_used(name, code)}

    assert {name for name in used if not _is_made(name, code)} == set()


def _is_used(name: str, code: str) -> bool:
    """Whether a name is called, asked for a member, or used as a component."""
    return re.search(rf"(?<![.\w\"'`-]){name}\s*[.(]|<\$\{{{name}\}}", code) is not None


def _is_made(name: str, code: str) -> bool:
    """Whether a module has something of its own by a name: a variable, an argument, a method."""
    made = (
        rf"(?:const|let|function|class) {name}\b",
        rf"[{{,(]\s*{name}\s*[,}})=:]",
        rf"\b{name}\s*=>",
        rf"^\s+(?:async )?{name}\([^)]*\) \{{",
    )
    return re.search("|".join(made), code, re.MULTILINE) is not None
