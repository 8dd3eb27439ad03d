"""Writes the folder that an AstrBot runs in: configuration, plugins, plugin configuration.

It imports no AstrBot and starts none; `astrbot_host` and `astrbot_process` do. What it writes is
read by AstrBot 4.26 and 4.29 alike, which keep some settings in different places.
"""

import compileall
import copy
import hashlib
import json
import py_compile
import shutil
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

PLUGIN_NAME = "astrbot_plugin_subagents"
ADAPTER_TYPE = "test_chat"
ADAPTER_ID = "test"
ADMIN = "admin"
MODEL = "scripted-model"
PROVIDER_ID = "scripted"
USER = "astrbot"
PASSWORD = "Test-Pass-2024"

type SchemaMode = Literal["full", "skills_like"]

_REPOSITORY = Path(__file__).parents[2]
# Nothing listens on this port: whatever AstrBot fetches from the internet fails at once.
_DEAD_PROXY = "http://127.0.0.1:9"
_ROOT_FILES = ("*.py", "*.json", "*.yaml", "*.png", "requirements.txt")
_PAGE_FOLDERS = ("pages", ".astrbot-plugin")
_WASTE = shutil.ignore_patterns("__pycache__", "*.pyc")


@dataclass(frozen=True, slots=True, kw_only=True)
class HostSettings:
    """AstrBot's own settings that tests vary."""

    tool_schema_mode: SchemaMode = "full"
    streaming: bool = False
    tool_call_timeout: int = 120
    """Seconds."""
    max_steps: int = 30
    extra: dict[str, Any] = field(default_factory=dict)
    """Merged into `cmd_config.json` last; it may overwrite everything."""

    def as_config(self) -> dict[str, Any]:
        """Return the settings in the places where 4.26 and 4.29 look for them."""
        config: dict[str, Any] = {
            "provider_settings": {
                "streaming_response": self.streaming,
                "tool_schema_mode": self.tool_schema_mode,
                "tool_call_timeout": self.tool_call_timeout,
                "max_agent_step": self.max_steps,
            },
            "agent_runner": {
                "config": {
                    "misc": {
                        "tool_schema_mode": self.tool_schema_mode,
                        "tool_call_timeout": self.tool_call_timeout,
                        "max_steps": self.max_steps,
                    }
                }
            },
        }
        merge(config, self.extra)
        return config


@dataclass(frozen=True, slots=True, kw_only=True)
class AstrBotRoot:
    """A folder for one AstrBot; `write` makes it ready to boot."""

    path: Path
    model_url: str
    """The base address of the scripted model, with `/v1`."""
    settings: HostSettings = field(default_factory=HostSettings)
    chat_adapter: bool = True
    """The tests' own chat platform; only an AstrBot in this process can load it."""

    @property
    def data(self) -> Path:
        """The folder in which AstrBot keeps everything."""
        return self.path / "data"

    @property
    def plugins(self) -> Path:
        """The folder of the installed plugins."""
        return self.data / "plugins"

    def write(self) -> None:
        """Write AstrBot's configuration; what is there already stays."""
        for folder in ("config", "plugins", "temp"):
            (self.data / folder).mkdir(parents=True, exist_ok=True)
        # The command line of AstrBot takes a folder for a root only when it has this file.
        (self.path / ".astrbot").touch()
        config = _base_config(self.model_url)
        if self.chat_adapter:
            config["platform"] = [{"id": ADAPTER_ID, "type": ADAPTER_TYPE, "enable": True}]
        merge(config, self.settings.as_config())
        write_json(self.data / "cmd_config.json", config)

    def install_plugin(self, config: dict[str, Any] | None = None) -> None:
        """Copy this repository's plugin in, only what a bot needs of it."""
        target = self.plugins / PLUGIN_NAME
        target.mkdir(parents=True)
        for pattern in _ROOT_FILES:
            for file in _REPOSITORY.glob(pattern):
                shutil.copy2(file, target / file.name)
        for name in (*_package_folders(), *_PAGE_FOLDERS):
            if (_REPOSITORY / name).is_dir():
                shutil.copytree(_REPOSITORY / name, target / name, ignore=_WASTE)
        # Nothing writes bytecode in a test (see `astrbot_host.boot`), and each loading of the
        # plugin would compile it all again. The source is compared, so a changed file counts.
        checked = py_compile.PycInvalidationMode.CHECKED_HASH
        compileall.compile_dir(target, quiet=1, invalidation_mode=checked)
        self.configure_plugin(config or {})

    def configure_plugin(self, config: dict[str, Any]) -> None:
        """Write the plugin's own configuration; what is not named keeps its default."""
        path = self.data / "config" / f"{PLUGIN_NAME}_config.json"
        if config:
            write_json(path, config)
        else:
            path.unlink(missing_ok=True)

    def add_plugin(self, name: str, source: str) -> None:
        """Write a small plugin of a test: its `main.py` as given, its metadata made up."""
        target = self.plugins / name
        target.mkdir(parents=True)
        target.joinpath("main.py").write_text(source, encoding="utf-8")
        metadata = f"name: {name}\nauthor: tests\ndesc: A plugin of a test.\nversion: 1.0.0\n"
        target.joinpath("metadata.yaml").write_text(metadata, encoding="utf-8")


def merge(config: dict[str, Any], changes: dict[str, Any]) -> None:
    """Put changes into a configuration, deep into its objects; lists are replaced."""
    for key, value in changes.items():
        if isinstance(value, dict) and isinstance(config.get(key), dict):
            merge(config[key], value)
        else:
            config[key] = value


def overwrite(config: dict[str, Any], wanted: dict[str, Any]) -> None:
    """Make a configuration equal to another; objects within stay the same objects.

    AstrBot's parts hold on to sections of the configuration, so these may not be replaced.
    """
    for key in config.keys() - wanted.keys():
        del config[key]
    for key, value in wanted.items():
        if isinstance(value, dict) and isinstance(config.get(key), dict):
            overwrite(config[key], value)
        else:
            config[key] = copy.deepcopy(value)


def write_json(path: Path, value: dict[str, Any]) -> None:
    """Write a configuration file as AstrBot does."""
    path.write_text(json.dumps(value, indent=2, ensure_ascii=False), encoding="utf-8")


def _package_folders() -> list[str]:
    text = (_REPOSITORY / "pyproject.toml").read_text(encoding="utf-8")
    packages = tomllib.loads(text)["tool"]["setuptools"]["packages"]
    return sorted({each.split(".")[1] for each in packages if "." in each})


def _base_config(model_url: str) -> dict[str, Any]:
    return {
        "config_version": 5,
        "http_proxy": _DEAD_PROXY,
        "no_proxy": ["localhost", "127.0.0.1", "::1"],
        "admins_id": [ADMIN, USER],
        "disable_metrics": True,
        "timezone": "UTC",
        "platform_settings": {
            "enable_id_white_list": False,
            "rate_limit": {"time": 1, "count": 10_000, "strategy": "stall"},
        },
        "provider_sources": [
            {
                "id": "scripted_source",
                "provider": "openai",
                "type": "openai_chat_completion",
                "provider_type": "chat_completion",
                "enable": True,
                "key": ["test-key"],
                "api_base": model_url,
                "timeout": 60,
            }
        ],
        "provider": [
            {
                "id": PROVIDER_ID,
                "provider_source_id": "scripted_source",
                "enable": True,
                "model": MODEL,
                "modalities": ["text", "image", "tool_use"],
                "custom_extra_body": {},
                "max_context_tokens": 128_000,
            }
        ],
        "provider_settings": {
            "enable": True,
            "default_provider_id": PROVIDER_ID,
            "llm_safety_mode": False,
            "request_max_retries": 1,
        },
        "agent_runner": {
            "runner_type": "local",
            "config": {
                "model": {"provider_id": PROVIDER_ID, "request_max_retries": 1},
                "persona": {"persona_id": "default", "safety_mode": False},
            },
        },
        "dashboard": _dashboard(),
    }


def _dashboard() -> dict[str, Any]:
    salt = "00" * 16
    digest = hashlib.pbkdf2_hmac("sha256", PASSWORD.encode(), bytes.fromhex(salt), 600_000).hex()
    return {
        "enable": True,
        "username": USER,
        "host": "127.0.0.1",
        "pbkdf2_password": f"pbkdf2_sha256$600000${salt}${digest}",
        "password": hashlib.md5(PASSWORD.encode(), usedforsecurity=False).hexdigest(),
        "password_storage_upgraded": True,
        "password_change_required": False,
    }
