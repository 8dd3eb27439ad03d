"""Tests of the page in a browser: by itself on a core with fakes, and in a real AstrBot's WebUI."""

# Fixtures and hooks, which pytest looks for here.
from support.browser_fixtures import (  # noqa: F401
    browser,
    busy_stage,
    pytest_terminal_summary,
    stage,
    tell,
    webui,
    witness,
)
from support.host_fixtures import model, model_server  # noqa: F401
