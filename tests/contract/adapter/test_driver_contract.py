"""The driver of a real AstrBot keeps the contract of an `AgentDriver`."""

import pytest

from support.driver_contract import DriverContract

pytestmark = [pytest.mark.host, pytest.mark.asyncio(loop_scope="session")]


class TestAstrBotDriver(DriverContract):
    """Its fixture `stage` is that of the folder."""
