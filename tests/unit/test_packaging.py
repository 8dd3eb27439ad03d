"""What is written down about the package holds for the tree it is made from."""

import re
import tomllib
from pathlib import Path
from typing import Any

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
