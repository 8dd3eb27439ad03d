"""The token of a server for which none was set: made once, kept in a file for its owner's eyes.

Other people and programs of the same machine can reach a server at 127.0.0.1 too, so there is
always a token; whoever can read the plugin's data has the bot's secrets already.
"""

import os
import secrets
from pathlib import Path

TOKEN_FILE = "dashboard_token"
_MODE = 0o600


def token_in(folder: Path) -> str:
    """Return the token that is kept in a folder; make it if there is none.

    Args:
        folder: The plugin's data folder.

    Raises:
        OSError: The file can be neither read nor written.
    """
    file = folder / TOKEN_FILE
    try:
        token = file.read_text("utf-8", "replace").strip()
    except FileNotFoundError:
        token = ""
    if token:
        return token
    token = secrets.token_urlsafe(24)
    # made with its mode, so that nobody can read it in between
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, _MODE)
    with os.fdopen(descriptor, "w", encoding="utf-8") as opened:
        opened.write(f"{token}\n")
    return token
