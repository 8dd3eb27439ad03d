"""A model that plays a script: who asks decides which queue of answers is used.

A script knows the main agent, sub-agents by name, and roles that a test defines itself. It is a
responder for `standin.server.ChatServer` and remembers every request, so that a test can say what
the provider got. It never fails silently: a request that nobody planned gets an answer saying so
and makes `check` raise.
"""

import asyncio
import re
from collections.abc import Callable
from dataclasses import dataclass, field

from standin.protocol import ChatReply, ChatRequest, message_text

from .replies import Step, play, say

type Matcher = Callable[[ChatRequest], bool]

MAIN = "main"
WAIT_SECONDS = 30.0

# A main agent has our tools, or else the prompt of AstrBot's default persona or of its WebUI.
_MAIN_TOOL = "create_subagent"
_MAIN_PROMPTS = ("You are a helpful and friendly assistant.", "[ChatUI HTML GenUI]")
# AstrBot asks the model for the title of a new chat of its WebUI.
_TITLE_PROMPT = "You are a conversation title generator."
# In the schema mode `skills_like` AstrBot asks a second time for each call, with this text.
_REQUERY = re.compile(r"You have decided to call tool\(s\): (?P<names>.*?)\. Now call the tool")


class UnscriptedRequest(AssertionError):
    """The model was asked something that the script has no answer for."""


@dataclass(slots=True)
class _Role:
    """One kind of asker, its planned answers and what it asked."""

    name: str
    matches: Matcher
    steps: list[Step] = field(default_factory=list)
    then: Step | None = None
    requests: list[ChatRequest] = field(default_factory=list)
    answered: list[tuple[list[str], ChatReply]] = field(default_factory=list)
    """What had been said before, and the answer to it."""

    def plan(self, steps: tuple[Step, ...], then: Step | None) -> None:
        """Add answers behind those that wait."""
        self.steps.extend(steps)
        self.then = then or self.then

    def next_step(self) -> Step | None:
        """Take the next answer; none: nothing is planned any more."""
        return self.steps.pop(0) if self.steps else self.then


def said(text: str) -> Matcher:
    """Match a request whose user messages hold this text."""
    return lambda request: any(text in each for each in _texts(request, "user"))


def tool_results(request: ChatRequest) -> list[str]:
    """Return the texts that tools gave so far in this conversation, in order."""
    return _texts(request, "tool")


class Script:
    """The answers of a model, by role.

    Roles are tried in this order: those added with `role`, titles of chats, the main agent,
    sub-agents. Steps given later to the same role come behind those it has.
    """

    def __init__(self) -> None:
        self.requeries: list[ChatRequest] = []
        """AstrBot's second questions in mode `skills_like`; no role counts them."""
        self._main = _Role(MAIN, _is_main)
        self._special: dict[str, _Role] = {}
        self._children: dict[str, _Role] = {}
        self._problems: list[str] = []
        self._answering = 0
        self._changed = asyncio.Condition()

    def main(self, *steps: Step, then: Step | None = None) -> None:
        """Plan answers for the main agent; `then` answers everything after the last step."""
        self._main.plan(steps, then)

    def child(self, name: str, *steps: Step, then: Step | None = None) -> None:
        """Plan answers for the sub-agent of this name."""
        role = _Role(name, lambda request: _first_mention(request, name) is not None)
        self._children.setdefault(name, role).plan(steps, then)

    def role(self, name: str, when: Matcher, *steps: Step, then: Step | None = None) -> None:
        """Plan answers for whoever the matcher accepts.

        Args:
            name: What `requests_of` and `reached` call it.
            when: For example `said("the task of the fork")`.
            steps: Answers in order.
            then: Answers everything after the last step.
        """
        self._special.setdefault(name, _Role(name, when)).plan(steps, then)

    def requests_of(self, role: str) -> list[ChatRequest]:
        """Return what a role asked so far, in order; empty for an unknown role."""
        return [asked for each in self._roles() if each.name == role for asked in each.requests]

    async def reached(self, role: str, count: int = 1) -> ChatRequest:
        """Wait until a role has asked that often and return that request.

        Raises:
            TimeoutError: It did not come within half a minute.
        """
        async with asyncio.timeout(WAIT_SECONDS), self._changed:
            await self._changed.wait_for(lambda: len(self.requests_of(role)) >= count)
            return self.requests_of(role)[count - 1]

    async def idle(self) -> None:
        """Wait until no request is open any more.

        Raises:
            TimeoutError: One was still open after half a minute.
        """
        async with asyncio.timeout(WAIT_SECONDS), self._changed:
            await self._changed.wait_for(lambda: self._answering == 0)

    def unused(self) -> dict[str, int]:
        """Return how many planned answers nobody asked for, by role."""
        return {role.name: len(role.steps) for role in self._roles() if role.steps}

    def check(self) -> None:
        """Make sure that every request was planned and every step could answer.

        Raises:
            UnscriptedRequest: With all problems in its text.
        """
        if self._problems:
            raise UnscriptedRequest("\n".join(self._problems))

    async def __call__(self, request: ChatRequest) -> ChatReply:
        """Answer one request; `ChatServer` calls this."""
        self._answering += 1
        try:
            return await self._answer(request)
        finally:
            self._answering -= 1
            await self._tell()

    async def _answer(self, request: ChatRequest) -> ChatReply:
        if _TITLE_PROMPT in request.system_text():
            return say("<None>")
        role = self._role_of(request)
        if names := _requeried(request):
            self.requeries.append(request)
            return self._repeat([role] if role else self._roles(), names, request)
        if role is None:
            return self._unplanned("an unknown asker", request)
        role.requests.append(request)
        step = role.next_step()
        await self._tell()
        if step is None:
            return self._unplanned(f"role {role.name!r}, which has no answer left,", request)
        reply = await self._play(role, step, request)
        role.answered.append((_talk(request), reply))
        return reply

    async def _play(self, role: _Role, step: Step, request: ChatRequest) -> ChatReply:
        try:
            return await play(step, request)
        except Exception as error:
            # The server turns this into status 500; the test shall see the cause.
            self._problems.append(f"A step of role {role.name!r} failed: {error!r}")
            raise

    def _repeat(self, roles: list[_Role], names: set[str], request: ChatRequest) -> ChatReply:
        talk = _talk(request)
        for before, reply in (each for role in roles for each in reversed(role.answered)):
            if before == talk and {each.name for each in reply.tool_calls} & names:
                return reply
        return self._unplanned(f"a second question about {sorted(names)}", request)

    def _roles(self) -> list[_Role]:
        return [*self._special.values(), self._main, *self._children.values()]

    def _role_of(self, request: ChatRequest) -> _Role | None:
        for role in (*self._special.values(), self._main):
            if role.matches(request):
                return role
        # A prompt may name other sub-agents too; its owner's name stands first.
        named = ((_first_mention(request, each.name), each) for each in self._children.values())
        found = [(at, each) for at, each in named if at is not None]
        return min(found, key=lambda pair: pair[0])[1] if found else None

    def _unplanned(self, who: str, request: ChatRequest) -> ChatReply:
        text = (
            f"Unscripted request of {who} with the tools {list(request.tool_names())}, the last "
            f"user message {request.last_user_text()[-300:]!r} and the system text "
            f"{request.system_text()[:200]!r}"
        )
        self._problems.append(text)
        return say(text)

    async def _tell(self) -> None:
        async with self._changed:
            self._changed.notify_all()


def _is_main(request: ChatRequest) -> bool:
    system = request.system_text()
    return _MAIN_TOOL in request.tool_names() or any(each in system for each in _MAIN_PROMPTS)


def _first_mention(request: ChatRequest, name: str) -> int | None:
    found = re.search(rf"\b{re.escape(name)}\b", request.system_text())
    return found.start() if found else None


def _requeried(request: ChatRequest) -> set[str]:
    found = _REQUERY.search(f"{request.system_text()}\n{request.last_user_text()}")
    return set(found["names"].split(", ")) if found else set()


def _talk(request: ChatRequest) -> list[str]:
    return [text for text in _texts(request, "user", "tool") if not _REQUERY.search(text)]


def _texts(request: ChatRequest, *roles: str) -> list[str]:
    return [message_text(each) for each in request.messages if each.get("role") in roles]
