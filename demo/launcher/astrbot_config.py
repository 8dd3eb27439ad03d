"""AstrBot's configuration file for the demo: made at the first start, then kept up to date.

What a person changed in the WebUI stays; ours are the demo's model and the login of a new file.
"""

import hashlib
import json
import secrets
from pathlib import Path
from typing import Any

from .data_folder import Login
from .instance import write_private
from .problem import Problem
from .settings import HOST, Model

SOURCE_ID = "demo_source"
PROVIDER_ID = "demo/model"
CONFIG_VERSION = 5

_ITERATIONS = 600_000
_REQUEST_SECONDS = 120


def write_config(root: Path, *, login: Login, model: Model, port: int) -> None:
    """Write the configuration file into an AstrBot root, or bring the one that is there up to date.

    Raises:
        Problem: The file that is there is no JSON object.
    """
    path = root / "data" / "cmd_config.json"
    config = _read(path) if path.exists() else _new(login, port)
    _put_model(config, model)
    write_private(path, json.dumps(config, ensure_ascii=False, indent=2))


def _read(path: Path) -> dict[str, Any]:
    try:
        config = json.loads(path.read_text(encoding="utf-8-sig"))
    except ValueError as error:
        raise Problem(f"{path} is not valid JSON ({error}). Repair it, or remove it.") from error
    if not isinstance(config, dict):
        raise Problem(f"{path} holds no JSON object. Repair it, or remove it.")
    return config


def _new(login: Login, port: int) -> dict[str, Any]:
    return {
        "config_version": CONFIG_VERSION,
        "provider_sources": [],
        "provider": [],
        "provider_settings": {"enable": True, "streaming_response": True},
        "platform_settings": {"enable_id_white_list": False},
        "dashboard": {
            "enable": True,
            "host": HOST,
            "port": port,
            "username": login.user,
            "pbkdf2_password": _pbkdf2(login.password),
            # AstrBot keeps the older form beside the newer one.
            "password": hashlib.md5(login.password.encode(), usedforsecurity=False).hexdigest(),
            "password_storage_upgraded": True,
            "password_change_required": False,
            # `ask` with a login of its own, many times in a row, is no attack here.
            "auth_rate_limit": {"enable": True, "average_interval": 0.5, "max_burst": 30},
        },
    }


def _pbkdf2(password: str) -> str:
    salt = secrets.token_hex(16)
    digest = hashlib.pbkdf2_hmac("sha256", password.encode(), bytes.fromhex(salt), _ITERATIONS)
    return f"pbkdf2_sha256${_ITERATIONS}${salt}${digest.hex()}"


def _put_model(config: dict[str, Any], model: Model) -> None:
    source = {
        "id": SOURCE_ID,
        "provider": "openai",
        "type": "openai_chat_completion",
        "provider_type": "chat_completion",
        "enable": True,
        "key": [model.api_key],
        "api_base": model.base_url,
        "timeout": _REQUEST_SECONDS,
    }
    provider = {
        "id": PROVIDER_ID,
        "provider_source_id": SOURCE_ID,
        "enable": True,
        "model": model.name,
        "modalities": ["text", "image", "tool_use"],
        "custom_extra_body": {},
        "max_context_tokens": model.context_tokens,
    }
    _replace(config, "provider_sources", source)
    _replace(config, "provider", provider)
    # The default model stands in another place from AstrBot 4.28 on; both are filled if empty.
    older = _folder(config, "provider_settings")
    newer = _folder(_folder(_folder(config, "agent_runner"), "config"), "model")
    older["default_provider_id"] = older.get("default_provider_id") or PROVIDER_ID
    newer["provider_id"] = newer.get("provider_id") or PROVIDER_ID


def _replace(config: dict[str, Any], key: str, entry: dict[str, Any]) -> None:
    entries = config.get(key)
    others = [each for each in entries if each.get("id") != entry["id"]] if entries else []
    config[key] = [*others, entry]


def _folder(config: dict[str, Any], key: str) -> dict[str, Any]:
    if not isinstance(config.get(key), dict):
        config[key] = {}
    folder: dict[str, Any] = config[key]
    return folder
