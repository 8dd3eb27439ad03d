"""Puts this plugin and the demo's documentation plugin into AstrBot's plugin folder.

A fresh copy of what a bot would get, at each start: a link to the clone would show AstrBot its
tests and private environments as well.
"""

import shutil
from pathlib import Path

from .problem import Problem

PLUGIN = "astrbot_plugin_subagents"
DOCS_PLUGIN = "astrbot_plugin_subagents_demo_docs"

NEEDED = ("__init__.py", "main.py", "metadata.yaml", "requirements.txt")
OPTIONAL = ("_conf_schema.json", "logo.png", "README.md", "CHANGELOG.md", "LICENSE", "py.typed")
FOLDERS = (
    ".astrbot-plugin",
    "dashboard_api",
    "i18n",
    "manager",
    "pages",
    "plugin",
    "subagent_tools",
)

_LEFT_OUT = shutil.ignore_patterns("__pycache__", "*.pyc")


def install_plugins(root: Path, clone: Path) -> None:
    """Copy both plugins into an AstrBot root, in place of earlier copies.

    Raises:
        Problem: The clone lacks a file that the plugin needs.
    """
    missing = [name for name in NEEDED if not (clone / name).is_file()]
    if missing:
        raise Problem(f"{clone} is no whole clone of the plugin: {', '.join(missing)} missing.")
    plugins = root / "data" / "plugins"
    own = _empty(plugins / PLUGIN)
    for name in (*NEEDED, *OPTIONAL):
        if (clone / name).is_file():
            shutil.copy2(clone / name, own / name)
    for name in FOLDERS:
        if (clone / name).is_dir():
            shutil.copytree(clone / name, own / name, ignore=_LEFT_OUT)
    docs = _empty(plugins / DOCS_PLUGIN)
    shutil.copytree(clone / "demo" / "docs_plugin", docs, ignore=_LEFT_OUT, dirs_exist_ok=True)


def _empty(folder: Path) -> Path:
    if folder.is_symlink():
        folder.unlink()
    elif folder.exists():
        shutil.rmtree(folder)
    folder.mkdir(parents=True)
    return folder
