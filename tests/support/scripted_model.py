"""The model server of a test session, whose script each test replaces."""

from standin.protocol import ChatReply, ChatRequest
from standin.server import ChatServer

from .script import Script


class ScriptedModel:
    """An OpenAI-compatible server that plays whatever script is set."""

    def __init__(self) -> None:
        self.script = Script()
        self.server = ChatServer(self._answer)

    async def _answer(self, request: ChatRequest) -> ChatReply:
        return await self.script(request)
