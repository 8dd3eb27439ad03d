"""What is written down about the package holds for the tree it is made from."""

import importlib
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
NAME = "astrbot_plugin_subagents"
NOT_SHIPPED = {"bench", "build", "demo", "dist", "docs", "scripts", "tests"}


def read_project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))


def packages_below(folder: Path, name: str) -> list[str]:
    """The package of a folder and all below it."""
    if not (folder / "__init__.py").exists():
        return []
    below = [
        package
        for child in sorted(folder.iterdir())
        if child.is_dir() and child.name.isidentifier() and child.name not in NOT_SHIPPED
        for package in packages_below(child, f"{name}.{child.name}")
    ]
    return [name, *below]


def test_the_list_of_packages_is_the_tree() -> None:
    listed = read_project()["tool"]["setuptools"]["packages"]

    assert listed == packages_below(ROOT, NAME)


def test_every_python_file_of_a_package_folder_is_in_a_listed_package() -> None:
    listed = set(read_project()["tool"]["setuptools"]["packages"])
    folders = [ROOT / package.split(".")[1] for package in listed if package.count(".") == 1]

    holding_code = {
        ".".join([NAME, *file.parent.relative_to(ROOT).parts])
        for folder in folders
        for file in folder.rglob("*.py")
    }

    assert holding_code <= listed


def test_astrbot_and_pip_are_told_the_same_version() -> None:
    metadata = (ROOT / "metadata.yaml").read_text("utf-8")

    version = re.search(r"^version: v(\S+)$", metadata, re.MULTILINE)

    assert version is not None
    assert version[1] == read_project()["project"]["version"]


def test_astrbot_finds_the_plugin_under_the_name_of_the_package() -> None:
    metadata = (ROOT / "metadata.yaml").read_text("utf-8")

    assert f"name: {NAME}\n" in metadata


def test_files_named_as_package_data_exist() -> None:
    named = read_project()["tool"]["setuptools"]["package-data"]

    missing = [
        pattern
        for package, patterns in named.items()
        for pattern in patterns
        if not any((ROOT / package.removeprefix(NAME).lstrip(".")).glob(pattern))
    ]

    assert missing == []


def test_every_other_file_of_a_package_is_package_data() -> None:
    setuptools = read_project()["tool"]["setuptools"]
    folders = {
        package: ROOT.joinpath(*package.split(".")[1:])
        for package in setuptools["packages"]
        if package != NAME
    }
    data = setuptools["package-data"]
    named = {
        file
        for package, folder in folders.items()
        for pattern in data.get(package, [])
        for file in folder.glob(pattern)
    }
    found = {
        file
        for folder in folders.values()
        for file in folder.iterdir()
        if file.is_file() and file.suffix not in {".py", ".pyc"}
    }

    assert len(found) >= 3
    assert found - named == set()


def test_what_an_installer_leaves_behind_when_it_is_broken_off_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(ROOT / "scripts")
    environments = importlib.import_module("environments")
    folder = tmp_path / "tmp"
    (folder / "of an earlier one that was killed").mkdir(parents=True)
    found: list[Path] | None = None

    def install() -> None:
        nonlocal found
        with environments.emptied(folder):
            found = list(folder.iterdir())
            (folder / "pip-unpack").mkdir()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        install()
    assert found == []
    assert not folder.exists()


def test_make_lists_exactly_the_verbs_that_it_has() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")

    phony = re.search(r"^\.PHONY: (.+)$", makefile, re.MULTILINE)

    assert phony is not None
    assert phony[1].split() == re.findall(r"^([a-z0-9]+): ##", makefile, re.MULTILINE)
    assert phony[1].split() == re.findall(r"^([a-z0-9]+):", makefile, re.MULTILINE)


def test_every_kind_of_test_has_a_verb() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    kinds = {file.relative_to(ROOT).parts[1] for file in ROOT.glob("tests/*/**/test_*.py")}

    assert {kind for kind in kinds if f"\n{kind}: ## " not in makefile} == set()
