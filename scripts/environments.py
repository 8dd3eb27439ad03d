"""The Python environments of a clone: which there are, and how each is made.

``.venv`` is for the unit and contract tests and the checks, without AstrBot; each folder under
``.venvs`` holds one real AstrBot. What goes into them stands in ``pyproject.toml``, in the
dependency group of the same name. ``installing.py`` runs the installers; this file decides whether
there is anything to do. Run it with the names of environments to prepare them.
"""

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final

from installing import SetupFailed, Work, install

__all__ = ["DEV", "LATEST", "OLDEST", "ROOT", "Environment", "main", "prepare"]

ROOT: Final = Path(__file__).resolve().parent.parent
UV: Final = "uv>=0.5,<1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """One environment of the clone."""

    group: str
    """Its dependency group in ``pyproject.toml``."""
    folder: Path
    title: str
    """How the summary of the tests calls it."""

    @property
    def python(self) -> Path:
        """The interpreter inside."""
        return self.folder / "bin" / "python"

    @property
    def place(self) -> str:
        """Its folder as the person at the terminal sees it."""
        return str(self.folder.relative_to(ROOT))

    @property
    def fingerprint_file(self) -> Path:
        """Written last: tells what was installed."""
        return self.folder / "installed-from"

    @property
    def unfinished_file(self) -> Path:
        """There while an installer runs, and after one was broken off.

        It lies outside of the folder, since making an environment begins with emptying that.
        """
        return ROOT / ".venvs" / f"{self.group}.unfinished"


DEV: Final = Environment(group="dev", folder=ROOT / ".venv", title="without AstrBot")
OLDEST: Final = Environment(
    group="astrbot-4.26.0", folder=ROOT / ".venvs" / "astrbot-4.26.0", title="with AstrBot 4.26.0"
)
LATEST: Final = Environment(
    group="astrbot-latest",
    folder=ROOT / ".venvs" / "astrbot-latest",
    title="with the latest AstrBot",
)


def prepare(environment: Environment) -> Path:
    """Make or update one environment, if that is needed.

    Returns:
        The interpreter of the ready environment.

    Raises:
        SetupFailed: It could not be made; the message says what was missing.
    """
    requirements, fingerprint = wanted(environment.group)
    if is_ready(environment, fingerprint):
        return environment.python
    with locked(environment) as lock:
        # Another set-up may have finished it while this one waited for the lock.
        if not is_ready(environment, fingerprint):
            build(environment, requirements, lock)
            environment.fingerprint_file.write_text(fingerprint)
            environment.unfinished_file.unlink()
            say(environment, "ready")
    return environment.python


def wanted(group: str) -> tuple[list[str], str]:
    """The requirements of a group, and a hash of all that decides what is installed."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    requirements = list(flatten(group, project["dependency-groups"]))
    inputs: Mapping[str, Any] = {
        "requirements": requirements,
        "runtime": (ROOT / "requirements.txt").read_text("utf-8"),
        "packaging": [project["build-system"], project["project"], project["tool"]["setuptools"]],
        # An environment holds absolute paths, so a moved clone needs new ones.
        "place": str(ROOT),
        "python": sys.version_info[:2],
    }
    return requirements, hashlib.sha256(json.dumps(inputs).encode()).hexdigest()


def flatten(group: str, groups: Mapping[str, Sequence[str | Mapping[str, str]]]) -> Iterator[str]:
    """The requirements of a dependency group, with those of the groups it includes."""
    for entry in groups[group]:
        if isinstance(entry, str):
            yield entry
        else:
            yield from flatten(entry["include-group"], groups)


def is_ready(environment: Environment, fingerprint: str) -> bool:
    """Whether the environment is whole and holds what is wanted now."""
    try:
        installed = environment.fingerprint_file.read_text()
    except OSError:
        return False
    unfinished = environment.unfinished_file.exists()
    return installed == fingerprint and not unfinished and runs(environment.python)


def runs(python: Path) -> bool:
    """Whether an interpreter is of the version in use here, and really starts."""
    code = "import sys; print(*sys.version_info[:2])"
    try:
        done = subprocess.run([python, "-I", "-c", code], capture_output=True, text=True)
    except OSError:
        return False
    return done.stdout.split() == [str(part) for part in sys.version_info[:2]]


@contextlib.contextmanager
def locked(environment: Environment) -> Iterator[IO[str]]:
    """Hold the lock of all environments, so that two set-ups do not meet.

    There is one for all, since each install also writes build files into the clone. The installer
    inherits it: should this process be killed, the next set-up still waits until the orphaned
    installer has ended.
    """
    folder = ROOT / ".venvs"
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(environment, "another set-up is at work, waiting")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield lock


def build(environment: Environment, requirements: Sequence[str], lock: IO[str]) -> None:
    """Install what is wanted, into a fresh environment where the present one cannot be trusted."""
    fresh = environment.unfinished_file.exists() or not is_usable(environment)
    what = ", ".join(r for r in requirements if r.startswith("AstrBot")) or "the test tools"
    say(environment, f"making it with {what}, may take minutes" if fresh else "updating it")
    environment.unfinished_file.touch()
    with emptied(ROOT / ".venvs" / "tmp") as temporary:
        work = Work(
            title=environment.place,
            log=ROOT / ".venvs" / f"{environment.group}.log",
            lock=lock,
            env=clean_environment() | {"TMPDIR": str(temporary)},
        )
        work.log.write_text("")
        if fresh:
            install(work, [sys.executable, "-m", "venv", "--clear", str(environment.folder)])
        install_all(work, environment, [*requirements, "--editable", str(ROOT)])
    if environment is DEV:
        link_package_name()


def install_all(work: Work, environment: Environment, what: Sequence[str]) -> None:
    """Install with uv, which takes seconds where pip takes minutes, and else with pip.

    Pip may be configured for an index or for certificates of which uv knows nothing, so it has the
    last word.
    """
    python = str(environment.python)
    with contextlib.suppress(SetupFailed):
        uv = [find_uv(work), "pip", "install", "--compile-bytecode", "--python", python]
        install(work, [*uv, *what])
        return
    install(work, [python, "-m", "pip", "install", "--no-input", "--progress-bar=off", *what])


def find_uv(work: Work) -> str:
    """Where uv is: the machine's own, or one that is brought into the clone.

    Raises:
        SetupFailed: There is none, and it cannot be brought.
    """
    if (found := shutil.which("uv")) is not None:
        return found
    folder = ROOT / ".venvs" / "uv"
    program = folder / "bin" / "uv"
    if not program.exists():
        install(work, [sys.executable, "-m", "venv", "--clear", str(folder)])
        pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--no-input"]
        install(work, [*pip, "--progress-bar=off", "--retries=1", "--only-binary=:all:", UV])
    return str(program)


@contextlib.contextmanager
def emptied(folder: Path) -> Iterator[Path]:
    """An empty folder that is gone afterwards, with whatever a broken-off installer left there."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(exist_ok=True)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def is_usable(environment: Environment) -> bool:
    """Whether an environment can be updated where it stands."""
    try:
        activate = (environment.folder / "bin" / "activate").read_text("utf-8")
    except OSError:
        return False
    # Its scripts name the place where it was made; in a moved clone they no longer work.
    in_place = str(environment.folder) in activate
    has_pip = (environment.folder / "bin" / "pip").exists()
    return in_place and has_pip and runs(environment.python)


def clean_environment() -> dict[str, str]:
    """The environment variables for the installers, without what would lead them elsewhere."""
    confusing = {"PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "PIP_TARGET", "PIP_USER", "PIP_PREFIX"}
    kept = {name: value for name, value in os.environ.items() if name not in confusing}
    return kept | {
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PYTHONUNBUFFERED": "1",
        "UV_CACHE_DIR": str(ROOT / ".venvs" / "cache"),
    }


def link_package_name() -> None:
    """Give mypy a folder in which the clone has its package name, whatever the clone is called."""
    link = DEV.folder / "names" / "astrbot_plugin_subagents"
    link.parent.mkdir(exist_ok=True)
    link.unlink(missing_ok=True)
    link.symlink_to(ROOT, target_is_directory=True)


def say(environment: Environment, text: str) -> None:
    """Print one progress line."""
    print(f"[{environment.place}] {text}", flush=True)


def main(names: Sequence[str]) -> int:
    """Prepare the named environments, or all, and return the exit code."""
    known = {environment.group: environment for environment in (DEV, OLDEST, LATEST)}
    try:
        for name in names or known:
            prepare(known[name])
    except SetupFailed as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("set-up interrupted; the next one starts afresh", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
