"""What the demo's start checks and prepares, without starting anything."""

import hashlib
import json
import shlex
import socket
import stat
import tomllib
from pathlib import Path
from typing import Any

import pytest

from launcher.astrbot_config import PROVIDER_ID, write_config
from launcher.data_folder import MARKER, DataFolder, Login
from launcher.instance import Instance, read_instance
from launcher.plugin_files import DOCS_PLUGIN, FOLDERS, PLUGIN, install_plugins
from launcher.ports import refuse_taken
from launcher.problem import Problem
from launcher.settings import Model, Settings, read_settings

CLONE = Path(__file__).resolve().parents[2]
LOGIN = Login(user="astrbot", password="Secret123456")
MODEL = Model(base_url="http://127.0.0.1:9/v1", api_key="k", name="m", context_tokens=1000)


def test_an_empty_environment_means_the_defaults() -> None:
    settings = read_settings({"PORT": "", "DATA": " "}, CLONE)

    assert settings == Settings(clone=CLONE, data=CLONE / ".demo", port=6185, model=None)
    assert settings.url == "http://127.0.0.1:6185"


@pytest.mark.parametrize(
    ("environment", "model"),
    [
        ({"OPENAI_BASE_URL": "http://x/v1", "OPENAI_MODEL": "m"}, ("http://x/v1", "none", "m")),
        (
            {"OPENAI_API_KEY": "k", "OPENAI_MODEL": "m"},
            ("https://api.openai.com/v1", "k", "m"),
        ),
    ],
)
def test_a_real_model_is_taken_from_the_environment(
    environment: dict[str, str], model: tuple[str, str, str]
) -> None:
    found = read_settings(environment, CLONE).model

    assert found is not None
    assert (found.base_url, found.api_key, found.name) == model


@pytest.mark.parametrize(
    ("environment", "named"),
    [
        ({"PORT": "abc"}, "PORT"),
        ({"PORT": "0"}, "PORT"),
        ({"PORT": "65536"}, "PORT"),
        ({"OPENAI_API_KEY": "k"}, "OPENAI_MODEL"),
        ({"OPENAI_BASE_URL": "http://x"}, "OPENAI_MODEL"),
    ],
)
def test_a_wrong_setting_is_named(environment: dict[str, str], named: str) -> None:
    with pytest.raises(Problem, match=named):
        read_settings(environment, CLONE)


@pytest.mark.parametrize("name", ["plain", "with a space", "it's $HOME & more"])
def test_the_hint_names_the_folder_so_that_a_shell_reads_it_back(tmp_path: Path, name: str) -> None:
    settings = read_settings({"DATA": str(tmp_path / name)}, CLONE)

    words = shlex.split(settings.ask_command)

    assert words == ["make", "ask", f"DATA={tmp_path / name}", "Q=..."]
    assert read_settings({}, CLONE).ask_command == 'make ask Q="..."'


def test_the_login_is_made_once_and_only_its_owner_can_read_it(tmp_path: Path) -> None:
    first, second = DataFolder(tmp_path / "data"), DataFolder(tmp_path / "data")

    first.open()
    login = first.login()
    first.close()
    second.open()

    assert second.login() == login
    second.close()
    assert len(login.password) >= 20
    assert stat.S_IMODE((tmp_path / "data" / "login.json").stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "data").stat().st_mode) == 0o700


def test_a_folder_of_someone_else_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("mine")

    with pytest.raises(Problem, match="nothing was changed"):
        DataFolder(tmp_path).open()

    assert [each.name for each in tmp_path.iterdir()] == ["letter.txt"]


def test_a_file_is_no_data_folder(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(Problem, match="not a folder"):
        DataFolder(tmp_path / "file").open()


def test_a_folder_in_use_is_refused_with_the_address_of_its_user(tmp_path: Path) -> None:
    running = DataFolder(tmp_path)
    running.open()
    running.tell_instance(Instance(url="http://127.0.0.1:7", user="u", password="p"))

    with pytest.raises(Problem, match=r"http://127\.0\.0\.1:7"):
        DataFolder(tmp_path).open()
    running.close()

    assert read_instance(tmp_path) is None
    DataFolder(tmp_path).open()


def test_a_damaged_login_is_named(tmp_path: Path) -> None:
    folder = DataFolder(tmp_path)
    folder.open()
    (tmp_path / "login.json").write_text("{")

    with pytest.raises(Problem, match=r"login\.json is damaged"):
        folder.login()
    folder.close()


def test_a_taken_port_is_named_and_another_one_offered() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]

        with pytest.raises(Problem, match=f"Port {port} .* PORT={port + 1}"):
            refuse_taken(port)
    refuse_taken(port)


def config(root: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((root / "data" / "cmd_config.json").read_text())
    return loaded


def test_a_new_configuration_has_the_login_and_the_model_for_old_and_new(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()

    write_config(tmp_path, login=LOGIN, model=MODEL, port=7)

    written = config(tmp_path)
    _, rounds, salt, digest = written["dashboard"]["pbkdf2_password"].split("$")
    expected = hashlib.pbkdf2_hmac(
        "sha256", LOGIN.password.encode(), bytes.fromhex(salt), int(rounds)
    )
    assert digest == expected.hex()
    assert written["dashboard"]["host"] == "127.0.0.1"
    assert written["provider"][0]["id"] == PROVIDER_ID
    assert written["provider_settings"]["default_provider_id"] == PROVIDER_ID
    assert written["agent_runner"]["config"]["model"]["provider_id"] == PROVIDER_ID


def test_a_later_start_changes_the_model_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    write_config(tmp_path, login=LOGIN, model=MODEL, port=7)
    changed = config(tmp_path)
    changed["provider"].append({"id": "mine"})
    changed["provider_settings"]["default_provider_id"] = "mine"
    # AstrBot itself writes a byte order mark.
    (tmp_path / "data" / "cmd_config.json").write_text(json.dumps(changed), encoding="utf-8-sig")
    other = Model(base_url="http://127.0.0.1:8/v1", api_key="", name="n", context_tokens=0)

    write_config(tmp_path, login=Login(user="x", password="y"), model=other, port=9)

    written = config(tmp_path)
    assert written["dashboard"] == changed["dashboard"]
    assert written["provider_settings"]["default_provider_id"] == "mine"
    assert {each["id"]: each.get("model") for each in written["provider"]} == {
        "mine": None,
        PROVIDER_ID: "n",
    }
    assert [each["api_base"] for each in written["provider_sources"]] == [other.base_url]


@pytest.mark.parametrize("text", ["{", "[]"])
def test_a_damaged_configuration_is_named_and_kept(tmp_path: Path, text: str) -> None:
    (tmp_path / "data").mkdir()
    path = tmp_path / "data" / "cmd_config.json"
    path.write_text(text)

    with pytest.raises(Problem, match=r"cmd_config\.json"):
        write_config(tmp_path, login=LOGIN, model=MODEL, port=7)

    assert path.read_text() == text


def test_the_plugins_are_copied_afresh_and_without_the_rest_of_the_clone(tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    for name in ("__init__.py", "main.py", "metadata.yaml", "requirements.txt", "manager/core.py",
                 "manager/__pycache__/core.pyc", "tests/test_it.py", ".venv/python", "secret.txt",
                 "demo/docs_plugin/main.py"):  # fmt: skip
        (clone / name).parent.mkdir(parents=True, exist_ok=True)
        (clone / name).write_text(name)
    plugins = tmp_path / "root" / "data" / "plugins"
    (plugins / PLUGIN).mkdir(parents=True)
    (plugins / PLUGIN / "old.py").touch()
    (plugins / "someone_elses").mkdir()

    install_plugins(tmp_path / "root", clone)

    copied = {each.relative_to(plugins).as_posix() for each in plugins.rglob("*") if each.is_file()}
    assert copied == {
        f"{PLUGIN}/__init__.py",
        f"{PLUGIN}/main.py",
        f"{PLUGIN}/metadata.yaml",
        f"{PLUGIN}/requirements.txt",
        f"{PLUGIN}/manager/core.py",
        f"{DOCS_PLUGIN}/main.py",
    }
    assert (plugins / "someone_elses").is_dir()


def test_an_incomplete_clone_is_refused(tmp_path: Path) -> None:
    (tmp_path / "main.py").touch()

    with pytest.raises(Problem, match=r"metadata\.yaml"):
        install_plugins(tmp_path / "root", tmp_path)


def test_the_marker_tells_what_made_the_folder(tmp_path: Path) -> None:
    folder = DataFolder(tmp_path)
    folder.open()
    folder.close()

    assert "make run" in (tmp_path / MARKER).read_text()
    assert (tmp_path / ".gitignore").read_text() == "*\n"


def test_every_package_that_is_shipped_is_copied() -> None:
    project = tomllib.loads((CLONE / "pyproject.toml").read_text())
    packages = project["tool"]["setuptools"]["packages"]

    assert {each.split(".")[1] for each in packages if "." in each} <= set(FOLDERS)
