"""Tests in a real AstrBot that has this repository's plugin; see `support.host_fixtures`."""

import pytest

# Fixtures and hooks, which pytest looks for here.
from support.host_fixtures import (  # noqa: F401
    astrbot,
    bot,
    model,
    model_server,
    pytest_collection_modifyitems,
    weather,
)


@pytest.fixture(scope="session")
def with_plugin() -> bool:
    """Boot AstrBot with the plugin."""
    return True
