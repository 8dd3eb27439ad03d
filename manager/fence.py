"""Fences around foreign text: what a child, a user or the board says is data.

The mark of a fence is made from the text inside, so that the text cannot close its own fence,
and the same text is always fenced alike, which keeps a provider's prefix cache.
"""

import hashlib


def fenced(text: str, *, what: str) -> str:
    """Put a text between two marks that do not occur in it.

    Args:
        text: Foreign text of any kind.
        what: One word for the mark, such as `result`.
    """
    salt = 0
    while True:
        mark = hashlib.sha256(f"{salt}:{text}".encode(errors="surrogatepass")).hexdigest()[:12]
        if mark not in text:
            return f"<<{what} {mark}\n{text}\n{what} {mark}>>"
        salt += 1
