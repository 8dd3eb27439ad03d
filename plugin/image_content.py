"""What the bytes of an image must be: of a kind that models read, and not too large.

It trusts no name and no declared type. Where the bytes come from is told elsewhere: files in
`image_files.py`, the web in `image_fetch.py`; `images.py` puts them together.
"""

import base64
import binascii

MAX_BYTES = 10 * 1024 * 1024
"""Of one image."""

KINDS = "PNG, JPEG, GIF, WebP and BMP images"

_MAGIC = (
    (b"\x89PNG\r\n\x1a\n", "png"),
    (b"\xff\xd8\xff", "jpg"),
    (b"GIF87a", "gif"),
    (b"GIF89a", "gif"),
)
_BMP_HEADER_SIZES = frozenset({12, 40, 52, 56, 64, 108, 124})
"""Two letters are too little to tell a BMP by: many a text begins with them."""

# Base64 has four characters for three bytes; line breaks may come on top.
_MAX_BASE64 = MAX_BYTES // 3 * 4 + MAX_BYTES // 16


class Refused(Exception):
    """An image reference that is not admitted; its text says why, and what is allowed.

    It never leaves the image modules: `images.py` adds which reference it was.
    """

    def __init__(self, why: str, *, allowed: str) -> None:
        super().__init__(f"{why}; {allowed}")


def too_large() -> Refused:
    """Make the refusal of an image that is too large."""
    return Refused("is too large", allowed=f"at most {MAX_BYTES // 1024**2} MB are allowed")


def suffix_of(content: bytes) -> str:
    """Tell the kind of an image by its first bytes.

    Returns:
        A file suffix without its dot.

    Raises:
        Refused: It is no image of a kind that is allowed.
    """
    for magic, suffix in _MAGIC:
        if content.startswith(magic):
            return suffix
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return "webp"
    if content[:2] == b"BM" and int.from_bytes(content[14:18], "little") in _BMP_HEADER_SIZES:
        return "bmp"
    raise Refused("is no image of a known kind", allowed=f"{KINDS} are allowed")


def decode_base64(text: str) -> bytes:
    """Decode what a reference carries; padding may be missing, line breaks may be in it.

    Raises:
        Refused: It is too large, which is told before anything is decoded, or no base64.
    """
    if len(text) > _MAX_BASE64:
        raise too_large()
    packed = "".join(text.split())
    try:
        content = base64.b64decode(packed + "=" * (-len(packed) % 4), validate=True)
    except (binascii.Error, ValueError):
        raise Refused("is no valid base64", allowed="send the whole encoded image") from None
    if len(content) > MAX_BYTES:
        raise too_large()
    return content
