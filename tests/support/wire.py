"""What a request to a model looked like on its way: its body, letter for letter.

A provider's prefix cache compares bytes, so tests of it must not compare parsed JSON.
"""

import json
from collections.abc import Iterable

from standin.protocol import ChatRequest

NEXT = ',{"role":"user","content":'
"""How a further user message begins, written without a space."""


def fields(request: ChatRequest) -> dict[str, str]:
    """The fields of a body, each as it was sent, in their order."""
    body, decoder, found = request.raw.decode(), json.JSONDecoder(), dict[str, str]()
    at = 1
    while at < len(body):
        key, colon = decoder.raw_decode(body, at)
        _, end = decoder.raw_decode(body, colon + 1)
        found[key] = body[colon + 1 : end]
        at = end + 1
    return found


def behind(request: ChatRequest, earlier: ChatRequest, *, apart: Iterable[str] = ()) -> str:
    """What a request's messages have behind those of an earlier one.

    Args:
        request: It must begin as the earlier one, and agree with it in all but its messages.
        earlier: What was sent before.
        apart: Fields in which the two may differ.

    Raises:
        AssertionError: It does not begin so.
    """
    now, before = fields(request), fields(earlier)
    sent, repeated = before.pop("messages")[:-1], now.pop("messages")[:-1]
    assert repeated.startswith(sent), f"{repeated[:200]} does not begin as {sent[:200]}"
    differing = set(apart)
    assert {key: now[key] for key in now if key not in differing} == {
        key: before[key] for key in before if key not in differing
    }
    return repeated.removeprefix(sent)
