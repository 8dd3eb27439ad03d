"""What `make ask` checks before it asks, and what it needs to be there."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from launcher.asking import read_question
from launcher.data_folder import DataFolder
from launcher.instance import Instance
from launcher.problem import Problem

CLONE = Path(__file__).resolve().parents[2]


def test_a_question_goes_to_the_instance_of_the_data_folder(tmp_path: Path) -> None:
    folder = DataFolder(tmp_path)
    folder.open()
    instance = Instance(url="http://127.0.0.1:7", user="u", password="p", token="t")
    folder.tell_instance(instance)

    question = read_question(
        ["What", "is it?"], {"DATA": str(tmp_path), "SESSION": "s", "TIMEOUT": "5"}, CLONE
    )
    folder.close()

    assert (question.text, question.instances) == ("What is it?", (instance,))
    assert (question.session, question.timeout_seconds) == ("s", 5.0)


def test_a_question_to_an_address_tries_the_demos_user_name_too() -> None:
    environment = {"URL": "http://127.0.0.1:7", "USER": "bob", "PASSWORD": "p"}

    question = read_question(["x"], environment, CLONE)

    assert [each.user for each in question.instances] == ["bob", "astrbot"]


@pytest.mark.parametrize(
    ("arguments", "environment", "named"),
    [
        ([], {}, "no question"),
        (["  "], {}, "no question"),
        (["x"], {"DATA": "/nowhere/at/all"}, "no demo runs"),
        (["x"], {"URL": "http://127.0.0.1:7"}, "PASSWORD"),
        (["x"], {"URL": "http://x", "PASSWORD": "p", "TIMEOUT": "soon"}, "TIMEOUT"),
        (["x"], {"URL": "http://x", "PASSWORD": "p", "TIMEOUT": "nan"}, "TIMEOUT"),
    ],
)
def test_a_question_that_cannot_be_asked_says_why(
    arguments: list[str], environment: dict[str, str], named: str
) -> None:
    with pytest.raises(Problem, match=named):
        read_question(arguments, environment, CLONE)


def test_in_a_fresh_clone_it_says_that_nothing_runs_before_it_installs_anything(
    tmp_path: Path,
) -> None:
    for name in ("demo", "scripts"):
        shutil.copytree(CLONE / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "requirements.txt"):
        shutil.copy(CLONE / name, tmp_path)
    # Should it install after all, it must fail at once instead of reaching for the network.
    environment = {**os.environ, "DATA": "", "URL": "", "PIP_NO_INDEX": "1", "UV_OFFLINE": "1"}

    asked = subprocess.run(
        # Without the packages that are installed here: a fresh clone has none.
        [sys.executable, "-S", "scripts/launch.py", "demo/ask.py", "What is memory?"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert asked.returncode == 1
    assert f"no demo runs with the data folder {tmp_path / '.demo'}" in asked.stderr
    assert asked.stdout == ""
    assert not (tmp_path / ".venvs").exists()


def test_asking_needs_the_standard_library_only(tmp_path: Path) -> None:
    asked = subprocess.run(
        [sys.executable, "-S", "demo/ask.py", "What is memory?"],
        cwd=CLONE,
        env={**os.environ, "DATA": str(tmp_path), "URL": ""},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert "no demo runs" in asked.stderr
