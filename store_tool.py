"""Looks after the plugin's store: doctor, export, import, vacuum. docs/store.md tells how.

    python data/plugins/astrbot_plugin_subagents/store_tool.py doctor STORE

It is run as a file, by the bot's own Python, so that it works in a bot's plugin folder and in a
clone of any name. AstrBot never imports it.
"""

import importlib
import importlib.util
import os
import sys
from pathlib import Path

_NAME = "astrbot_plugin_subagents"


def _take_folder_for_package(folder: Path) -> None:
    """Make this folder the package, whatever it is called and wherever it lies."""
    # Python looks for what a program imports beside it first, where `plugin` and others lie.
    sys.path[:] = [place for place in sys.path if Path(place).resolve() != folder]
    # AstrBot's desktop edition installs what plugins need into its data folder.
    sys.path.append(str(folder.parent.parent / "site-packages"))
    spec = importlib.util.spec_from_file_location(
        _NAME, folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    if spec is None or spec.loader is None:
        raise ImportError(f"{folder} is not the folder of the plugin")
    package = importlib.util.module_from_spec(spec)
    sys.modules[_NAME] = package
    spec.loader.exec_module(package)


def main() -> int:
    """Run the command line and return its exit code."""
    if sys.version_info < (3, 12):  # noqa: UP036 - a file can be run by any Python
        sys.stderr.write("store: it needs Python 3.12 or newer; use the bot's own Python\n")
        return 3
    _take_folder_for_package(Path(__file__).resolve().parent)
    try:
        command = importlib.import_module(f"{_NAME}.manager.store.command")
    except ModuleNotFoundError as error:
        sys.stderr.write(f"store: {error.name} is missing here; use the bot's own Python\n")
        return 3
    terminal = command.Terminal(
        input=sys.stdin, output=sys.stdout, errors=sys.stderr, environment=os.environ
    )
    try:
        code: int = command.main(sys.argv[1:], terminal)
        sys.stdout.flush()
    except BrokenPipeError:
        # What is still to be written at the end of the program must not fail once more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 3
    except KeyboardInterrupt:
        return 130
    return code


if __name__ == "__main__":
    sys.exit(main())
