"""What the name of a tool says, read widely: only ever used to deny.

Names come from plugins and MCP servers, which write them as they like. A false alarm costs a
refusal, a miss costs safety. Used by `tool_filter.py`.
"""

import re
import unicodedata
from collections.abc import Iterable
from typing import Final

CODE_STEMS: Final = (
    "applescript",
    "bash",
    "cmd",
    "command",
    "console",
    "evaluat",
    "exec",
    "interpreter",
    "javascript",
    "jupyter",
    "osascript",
    "python",
    "shell",
    "subprocess",
    "sudo",
    "terminal",
    "vbscript",
)
"""Say anywhere in a word that a tool can run code: also `powershell`, `executor`, `ipython`.

Hardly any common word has one in it.
"""

CODE_WORDS: Final = frozenset(
    (
        # shells, and what is one from afar
        *("cli", "csh", "dash", "fish", "ksh", "pty", "pwsh", "rsh", "sh", "ssh", "sshd", "tcsh"),
        *("telnet", "tmux", "tty", "winrm", "wsl", "zsh"),
        # becoming somebody else
        *("doas", "su"),
        # to make something run
        *("compile", "eval", "install", "invoke", "launch", "popen", "process", "run", "runner"),
        *("running", "spawn"),
        # what runs, and in what
        *("deno", "docker", "js", "kernel", "kubectl", "lua", "nodejs", "npm", "npx", "perl"),
        *("php", "pip", "podman", "repl", "ruby", "sandbox", "script", "scripts", "uvx"),
        # the keys of a computer, with which a terminal can be opened
        *("computer", "keyboard", "keystroke", "keystrokes"),
    )
)
"""Say the same, but only as whole words: `script` is in `description`, `run` in `prune`."""

_WORD_OF_CAMEL_CASE = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


def is_named(name: str, denied: Iterable[str]) -> bool:
    """Tell whether a name is among the denied ones, however it is written.

    Capitals, accents, separators, and characters that cannot be seen make no difference.
    """
    return _key(name) in map(_key, denied)


def says_that_it_runs_code(name: str) -> bool:
    """Tell whether a name says that its tool can run code, or cannot be read.

    Words end where a character is no letter and where a capital begins one; a prefix, such as that
    of an MCP server, is words too. Other letters can look like Latin ones, and some characters
    cannot be seen: a name with any of them says nothing that could be relied on.
    """
    if not (name.isascii() and name.isprintable()):
        return True
    lower = name.lower()
    # mixed capitals may be no camel case, so that a name is read in both ways
    words = {*re.split(r"[^a-z]+", lower), *map(str.lower, _WORD_OF_CAMEL_CASE.findall(name))}
    return not words.isdisjoint(CODE_WORDS) or any(stem in lower for stem in CODE_STEMS)


def _key(name: str) -> str:
    # decomposed, so that accents are characters of their own, which are no letters
    lower = unicodedata.normalize("NFKD", name).casefold()
    return "".join(filter(str.isalnum, lower)) or lower
