"""This plugin's own configuration in the demo: one tool is known to read, and who shares the work.

AstrBot adds all other settings to the file with their defaults. What a person set stays.
"""

import json
from pathlib import Path

from .instance import write_private
from .plugin_files import PLUGIN
from .problem import Problem

READS_ONLY = "search_project_docs"
"""The demo's tool. Nothing is known of a plugin's tools, so copies would not be given it."""


def write_plugin_config(root: Path, database_url: str = "") -> None:
    """Write the plugin's configuration into an AstrBot root, unless it has its part on `task`.

    Args:
        root: AstrBot's root folder.
        database_url: A PostgreSQL database by which the bot shares its work; "" is none.

    Raises:
        Problem: The file that is there is no JSON object.
    """
    path = root / "data" / "config" / f"{PLUGIN}_config.json"
    try:
        config = json.loads(path.read_text(encoding="utf-8-sig")) if path.exists() else {}
    except ValueError as error:
        raise Problem(f"{path} is not valid JSON ({error}). Repair it, or remove it.") from error
    if not isinstance(config, dict):
        raise Problem(f"{path} holds no JSON object. Repair it, or remove it.")
    wanted: dict[str, object] = {}
    if "task" not in config:
        wanted["task"] = {"readonly_extra": [READS_ONLY]}
    if database_url:
        wanted |= {"database_url": database_url, "workers": {"enabled": True}}
        # One at a time, so that two tasks are seen to go to two processes.
        wanted |= {"max_parallel_total": config.get("max_parallel_total", 1)}
    if wanted:
        config |= wanted
        write_private(path, json.dumps(config, ensure_ascii=False, indent=2))
