"""The fake host keeps the contract of an `AgentDriver`; `adapter/` holds the real one to it."""

import pytest

from astrbot_plugin_subagents.manager.host import AgentDriver
from astrbot_plugin_subagents.manager.models import SessionId
from astrbot_plugin_subagents.manager.testing import Act, FakeHost, says
from support.driver_contract import DriverContract


class FakeStage:
    """Children of the fake host."""

    session = SessionId("chat")

    async def driver(self, *acts: Act) -> AgentDriver:
        return FakeHost(says(*acts), tools=("search",))


class TestFakeHost(DriverContract):
    @pytest.fixture
    def stage(self) -> FakeStage:
        return FakeStage()
