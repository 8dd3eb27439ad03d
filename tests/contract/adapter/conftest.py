"""Tests of the host adapter in a real AstrBot, which has not got the plugin itself."""

import pytest

# Fixtures and hooks, which pytest looks for here.
from support.child_fixtures import stage, tools_plugin  # noqa: F401
from support.host_fixtures import (  # noqa: F401
    astrbot,
    bot,
    model,
    model_server,
    pytest_collection_modifyitems,
)


@pytest.fixture(scope="session")
def with_plugin() -> bool:
    """Boot AstrBot without the plugin: these tests use its parts under its pip name."""
    return False
