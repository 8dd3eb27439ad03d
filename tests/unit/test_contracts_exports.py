"""What each package offers is what it says it offers."""

import importlib
import inspect
import pkgutil
from types import ModuleType

import pytest

import astrbot_plugin_subagents

PACKAGES = (
    "dashboard_api",
    "dashboard_api.server",
    "i18n",
    "manager",
    "manager.store",
    "subagent_tools",
)


def module(name: str) -> ModuleType:
    return importlib.import_module(f"{astrbot_plugin_subagents.__name__}.{name}")


def modules_with_all() -> list[str]:
    found = [
        f"{package}.{each.name}"
        for package in (*PACKAGES, "manager.runs")
        for each in pkgutil.iter_modules(module(package).__path__)
        if not each.ispkg
    ]
    return [name for name in found if hasattr(module(name), "__all__")]


@pytest.mark.parametrize("name", PACKAGES)
def test_a_package_says_what_it_offers_and_offers_nothing_else(name: str) -> None:
    package = module(name)
    offered = package.__all__
    imported = {
        key
        for key, value in vars(package).items()
        if not key.startswith("_")
        and (inspect.isclass(value) or inspect.isfunction(value))
        and getattr(value, "__module__", "").startswith(package.__name__)
    }

    assert list(offered) == sorted(offered)
    assert len(set(offered)) == len(offered)
    assert {each for each in offered if not hasattr(package, each)} == set()
    assert imported - set(offered) == set()


@pytest.mark.parametrize("name", modules_with_all())
def test_a_module_that_says_what_it_offers_has_it(name: str) -> None:
    assert [each for each in module(name).__all__ if not hasattr(module(name), each)] == []
