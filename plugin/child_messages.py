"""A child's messages between AstrBot's shape, the model's, and the one that is kept.

What is kept is text: pictures become a reference with their path, so that a conversation stays
small and can be sent to any model later. Nothing here talks to a model.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from astrbot.api.provider import ProviderRequest
from astrbot.core.agent.message import (
    ContentPart,
    ImageURLPart,
    Message,
    TextPart,
    ThinkPart,
    ToolCall,
)

from ..manager.host import AgentRequest
from ..manager.models import MessageBody
from ..manager.store.texts import clean
from .child_texts import clean_message

_INLINE = ("data:", "base64:")
"""How references begin that are the picture itself."""


async def opening_messages(request: AgentRequest) -> list[dict[str, Any]]:
    """What the child's first model request holds behind the system prompt.

    A run that is taken up again has its notes told later, at the end, where they change nothing of
    what the model was sent before.
    """
    earlier = request.history if request.fork is None else request.fork.messages
    history = [dict(body) for body in earlier]
    if not request.resume:
        return [*history, await _user_turn(request, request.notes)]
    first, *rest = (dict(body) for body in request.resume)
    if request.image_urls:
        first = await _user_turn(request, ())
    return [*history, first, *rest]


def user_turn_body(request: AgentRequest) -> MessageBody:
    """The user turn as it is kept: the task, and where its pictures are."""
    return {
        "role": "user",
        "content": "\n".join((request.prompt, *map(_reference, request.image_urls))),
    }


def note(text: str) -> Message:
    """A message to the child that is never kept."""
    message = Message(role="user", content=clean(text))
    message._no_save = True  # noqa: SLF001 - AstrBot has no other way to mark a whole message
    return message


def settle(added: Sequence[Message]) -> list[Message]:
    """Put the messages of one step in order before they are kept or sent again.

    Each tool call gets its answer, since a provider refuses a conversation that lacks one, and a
    lone text becomes a plain string, which is cheaper to send.
    """
    settled: list[Message] = []
    for message in added:
        clean_message(message)
        if message.role == "assistant":
            _make_plain(message)
        settled.append(message)
    missing = _unanswered(added)
    if missing:
        at = next(i for i, each in enumerate(settled) if each.tool_calls) + 1
        while at < len(settled) and settled[at].role == "tool":
            at += 1
        settled[at:at] = [_refusal(call) for call in missing]
    return settled


def tool_calls(messages: Iterable[Message]) -> list[ToolCall]:
    """All tool calls in these messages, in their order."""
    return [call for each in messages for call in each.tool_calls or ()]


def refusal_text(name: str) -> str:
    """What a child reads when it calls a tool that AstrBot did not run."""
    return f"error: The tool {name} was not run: it is not one of your tools."


def kept_bodies(messages: Iterable[Message]) -> list[MessageBody]:
    """The messages of one step as they are kept; an answer without any words is left out."""
    return [_body(each) for each in messages if _belongs(each)]


async def _user_turn(request: AgentRequest, notes: Iterable[str]) -> dict[str, Any]:
    turn: dict[str, Any] = await ProviderRequest(
        prompt=clean(request.prompt),
        image_urls=list(request.image_urls),
        extra_user_content_parts=[TextPart(text=clean(text)).mark_as_temp() for text in notes],
    ).assemble_context()
    lost = len(request.image_urls) - _count_pictures(turn["content"])
    if lost > 0:
        # AstrBot leaves out what it cannot read and tells nobody
        text = f"[{lost} of {len(request.image_urls)} images could not be read]"
        turn["content"] = [*_parts(turn["content"]), {"type": "text", "text": text}]
    return turn


def _parts(content: Any) -> list[dict[str, Any]]:
    return content if isinstance(content, list) else [{"type": "text", "text": content}]


def _count_pictures(content: Any) -> int:
    return sum(part.get("type") == "image_url" for part in _parts(content))


def _make_plain(message: Message) -> None:
    content = message.content
    if isinstance(content, list) and len(content) == 1 and isinstance(content[0], TextPart):
        message.content = content[0].text


def _unanswered(messages: Sequence[Message]) -> list[ToolCall]:
    # counted, since some providers use a tool's name as the id of each of its calls
    answers = Counter(each.tool_call_id for each in messages if each.role == "tool")
    missing = []
    for call in tool_calls(messages):
        if answers[call.id]:
            answers[call.id] -= 1
        else:
            missing.append(call)
    return missing


def _refusal(call: ToolCall) -> Message:
    return Message(role="tool", tool_call_id=call.id, content=refusal_text(call.function.name))


def _body(message: Message) -> dict[str, Any]:
    body: dict[str, Any] = {"role": message.role, "content": _content(message.content)}
    if message.tool_calls:
        body["tool_calls"] = [call.model_dump() for call in message.tool_calls]
    if message.tool_call_id is not None:
        body["tool_call_id"] = message.tool_call_id
    return body


def _content(content: Any) -> Any:
    if not isinstance(content, list):
        return content
    texts = [text for part in content if (text := _text(part))]
    # some models must get their own reasoning back, signatures included
    thoughts = [part.model_dump() for part in content if isinstance(part, ThinkPart)]
    if thoughts:
        return [*thoughts, *({"type": "text", "text": text} for text in texts)]
    return "\n".join(texts)


def _belongs(message: Message) -> bool:
    if message.role == "tool" or message.tool_calls:
        return True
    content = message.content
    return any(map(_text, content)) if isinstance(content, list) else bool(content)


def _text(part: ContentPart) -> str:
    if isinstance(part, TextPart):
        return str(part.text)
    # AstrBot's own line before a tool's picture names its path already
    if isinstance(part, ImageURLPart) and not part.image_url.id:
        return _reference(part.image_url.url)
    return ""


def _reference(image_url: str) -> str:
    return "[Image]" if image_url.startswith(_INLINE) else f"[Image: {image_url}]"
