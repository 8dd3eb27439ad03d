"""Long texts without their middle, for the prompts of children and the reports on them."""

from collections.abc import Callable


def without_middle(text: str, limit: int, *, hint: Callable[[int], str] = lambda _: "") -> str:
    """Head and tail of a long text, together of `limit` characters, with a mark between them.

    Args:
        text: Any text; one that is short enough stays as it is.
        limit: At least 1.
        hint: Says in the mark how to read the rest; given where the head ends.
    """
    if len(text) <= limit:
        return text
    head = limit * 2 // 3
    end = len(text) - (limit - head)
    mark = f"[... {end - head} characters left out{hint(head)} ...]"
    return f"{text[:head]}\n{mark}\n{text[end:]}"
