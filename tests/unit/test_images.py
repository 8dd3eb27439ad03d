"""Images that a model names: what is admitted is kept as a copy, and a bad one leaves nothing."""

import asyncio
import base64
import hashlib
import io
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_subagents.manager.errors import InvalidArgument
from astrbot_plugin_subagents.plugin.image_content import (
    MAX_BYTES,
    Refused,
    decode_base64,
    suffix_of,
)
from astrbot_plugin_subagents.plugin.image_store import StagedImage, keep
from astrbot_plugin_subagents.plugin.images import MOST_IMAGES, Fetch, admit_images, shown

PNG = b"\x89PNG\r\n\x1a\n" + b"a picture"
JPEG = b"\xff\xd8\xff\xe0" + b"a photo"
GIF = b"GIF89a" + b"a film"
WEBP = b"RIFF\x10\x00\x00\x00WEBPVP8 "
BMP = b"BM" + bytes(12) + (40).to_bytes(4, "little") + bytes(36)
SVG = b"<svg xmlns='http://www.w3.org/2000/svg'/>"
HTML = b"<!doctype html><title>Log in</title>"


class Chat:
    """A chat's folder and a temporary folder of the host."""

    def __init__(self, root: Path) -> None:
        self.folder = root / "chat"
        self.temp = root / "temp"
        self.temp.mkdir()

    async def admit(
        self,
        *refs: str,
        message_images: Sequence[str] = (),
        fetch: Fetch | None = None,
        seconds: float = 20,
    ) -> tuple[str, ...]:
        return await admit_images(
            refs,
            message_images=message_images,
            roots=(self.folder, self.temp),
            folder=self.folder,
            fetch=fetch or fetch_nothing,
            seconds=seconds,
        )

    def put(self, name: str, content: bytes) -> str:
        file = self.temp / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
        return str(file)

    def kept(self, content: bytes, suffix: str) -> str:
        name = f"{hashlib.sha256(content).hexdigest()}.{suffix}"
        return str(self.folder.resolve() / "_images" / name)

    def left(self) -> list[str]:
        return sorted(map(str, self.folder.glob("_images/*")))


@pytest.fixture
def chat(tmp_path: Path) -> Chat:
    return Chat(tmp_path)


async def fetch_nothing(url: str) -> bytes:
    raise AssertionError(f"nothing may be fetched: {url}")


def content_of(path: str) -> bytes:
    file = Path(path)
    assert not file.is_symlink()
    return file.read_bytes()


def replace_by_link(path: str, target: str) -> None:
    Path(path).unlink()
    Path(path).symlink_to(target)


def inline(content: bytes) -> str:
    return "base64://" + base64.b64encode(content).decode()


def data_url(content: bytes, kind: str = "image/png") -> str:
    return f"data:{kind};base64," + base64.b64encode(content).decode()


async def test_images_of_all_kinds_are_kept_in_the_order_given(chat: Chat) -> None:
    async def fetch(url: str) -> bytes:
        return {"https://example.com/a": WEBP, "HTTP://example.com/b": BMP}[url]

    paths = await chat.admit(
        chat.put("a.jpg", JPEG),
        inline(PNG),
        "https://example.com/a",
        data_url(GIF, "image/gif"),
        "HTTP://example.com/b",
        fetch=fetch,
    )

    assert paths == (
        chat.kept(JPEG, "jpg"),
        chat.kept(PNG, "png"),
        chat.kept(WEBP, "webp"),
        chat.kept(GIF, "gif"),
        chat.kept(BMP, "bmp"),
    )
    assert [content_of(each) for each in paths] == [JPEG, PNG, WEBP, GIF, BMP]


async def test_the_copy_outlives_the_file_that_was_named(chat: Chat) -> None:
    named = chat.put("a.png", PNG)

    (path,) = await chat.admit(named)
    chat.put("a.png", b"something else")

    assert content_of(path) == PNG


async def test_doubles_are_dropped_by_their_content(chat: Chat) -> None:
    one, other = chat.put("one.png", PNG), chat.put("other.png", PNG)

    paths = await chat.admit(one, one, inline(JPEG), other, data_url(PNG), data_url(JPEG))

    assert paths == (chat.kept(PNG, "png"), chat.kept(JPEG, "jpg"))


async def test_no_image_at_all_is_nothing(chat: Chat) -> None:
    assert await chat.admit() == ()
    assert not chat.folder.exists()


async def test_an_admitted_image_can_be_named_again(chat: Chat) -> None:
    first = await chat.admit(inline(PNG))

    assert await chat.admit(*first) == first


async def test_what_is_kept_under_the_name_of_an_image_is_that_image(chat: Chat) -> None:
    (path,) = await chat.admit(inline(PNG))
    secret = chat.put("secret.txt", b"secret")
    replace_by_link(path, secret)

    assert await chat.admit(inline(PNG)) == (path,)
    assert content_of(path) == PNG
    assert content_of(secret) == b"secret"


@pytest.mark.parametrize(
    "ref",
    [
        "",
        "picture.png",
        "~/picture.png",
        "ftp://example.com/a.png",
        "javascript:alert(1)",
        "base64://",
        "base64://not base64!",
        inline(PNG) + "!!!!",
        "data:image/png,plain",
        "data:image/svg+xml;base64,PHN2Zy8+",
        "data:text/plain;base64,iVBORw0KGgo=",
        inline(SVG),
        inline(HTML),
        data_url(HTML),
        inline(b"BM is how this text begins, which makes it no picture"),
    ],
)
async def test_a_bad_reference_is_refused_and_nothing_is_left(chat: Chat, ref: str) -> None:
    good = chat.put("good.png", PNG)

    with pytest.raises(InvalidArgument) as refusal:
        await chat.admit(good, ref, inline(JPEG))

    assert refusal.value.field == "image_urls"
    assert refusal.value.problem.startswith(f"{shown(ref)}: ")
    assert "; " in refusal.value.problem
    assert not chat.folder.exists()


@pytest.mark.parametrize("content", [SVG, HTML, b"", b"%PDF-1.7", b"RIFF\0\0\0\0WAVE"])
async def test_a_file_is_known_by_its_content_and_not_by_its_name(
    chat: Chat, content: bytes
) -> None:
    with pytest.raises(InvalidArgument, match="no image"):
        await chat.admit(chat.put("picture.png", content))


async def test_an_image_may_have_any_name(chat: Chat) -> None:
    assert await chat.admit(chat.put("media_image.bin", PNG)) == (chat.kept(PNG, "png"),)


async def test_sixteen_images_are_admitted_and_one_more_is_not(chat: Chat) -> None:
    refs = [inline(PNG + bytes([number])) for number in range(MOST_IMAGES)]

    assert len(await chat.admit(*refs, refs[0])) == MOST_IMAGES
    with pytest.raises(InvalidArgument, match="too many"):
        await chat.admit(*refs, inline(GIF))


@pytest.mark.parametrize("form", [inline, data_url])
async def test_ten_megabytes_are_admitted_and_one_byte_more_is_not(
    chat: Chat, form: Callable[[bytes], str]
) -> None:
    largest = PNG + bytes(MAX_BYTES - len(PNG))

    assert await chat.admit(form(largest)) == (chat.kept(largest, "png"),)
    with pytest.raises(InvalidArgument, match="too large"):
        await chat.admit(form(largest + b"x"))


def test_what_is_too_large_is_not_even_decoded() -> None:
    with pytest.raises(Refused, match="too large"):
        decode_base64("!" * MAX_BYTES * 2)


async def test_base64_may_have_line_breaks_and_no_padding(chat: Chat) -> None:
    packed = base64.encodebytes(PNG * 9).decode().rstrip("=\n")

    assert await chat.admit(f"base64://{packed}") == (chat.kept(PNG * 9, "png"),)


@given(st.binary(max_size=200))
def test_only_what_begins_like_an_image_is_one(content: bytes) -> None:
    known = (PNG[:8], JPEG[:3], b"GIF87a", b"GIF89a", b"RIFF", b"BM")
    try:
        suffix_of(content)
    except Refused:
        return
    assert content.startswith(known)


async def test_a_failing_fetch_ends_the_others_and_leaves_nothing(chat: Chat) -> None:
    begun, ended = asyncio.Event(), asyncio.Event()

    async def fetch(url: str) -> bytes:
        if url.endswith("bad"):
            await begun.wait()
            raise Refused("is bad", allowed="good ones are allowed")
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        raise AssertionError

    with pytest.raises(InvalidArgument) as refusal:
        await chat.admit("https://h/slow", "https://h/bad", inline(PNG), fetch=fetch)

    assert refusal.value.problem == "'https://h/bad': is bad; good ones are allowed"
    assert ended.is_set()
    assert not chat.folder.exists()


async def test_all_of_it_must_be_done_in_time(chat: Chat) -> None:
    async def fetch(url: str) -> bytes:
        await asyncio.Event().wait()
        raise AssertionError

    with pytest.raises(InvalidArgument, match="in time"):
        await chat.admit("https://h/slow", inline(PNG), fetch=fetch, seconds=0.05)

    assert not chat.folder.exists()


async def test_an_abandoned_call_leaves_nothing(chat: Chat) -> None:
    begun = asyncio.Event()

    async def fetch(url: str) -> bytes:
        begun.set()
        await asyncio.Event().wait()
        raise AssertionError

    call = asyncio.create_task(chat.admit(inline(PNG), "https://h/slow", fetch=fetch))
    await begun.wait()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call

    assert not chat.folder.exists()


@pytest.mark.parametrize("in_the_way", ["file", "link"])
async def test_images_are_written_nowhere_else(chat: Chat, in_the_way: str) -> None:
    place = chat.folder / "_images"
    chat.folder.mkdir()
    if in_the_way == "file":
        place.write_bytes(b"")
    else:
        place.symlink_to(chat.temp, target_is_directory=True)

    with pytest.raises(InvalidArgument, match="cannot be kept"):
        await chat.admit(inline(PNG), inline(JPEG))

    assert list(chat.temp.iterdir()) == []


async def test_when_one_image_cannot_be_written_none_stays(chat: Chat) -> None:
    there = chat.kept(GIF, "gif"), chat.kept(JPEG, "jpg")
    await chat.admit(inline(GIF))
    chat.folder.joinpath("_images", there[1]).mkdir()

    with pytest.raises(InvalidArgument, match="cannot be kept"):
        await chat.admit(inline(GIF), inline(PNG), inline(JPEG))

    assert chat.left() == sorted(there)


async def test_a_call_that_is_abandoned_while_images_are_written_leaves_nothing(
    chat: Chat,
) -> None:
    image = SlowImage(PNG)
    staged = [StagedImage(name="a.png", content=io.BytesIO(PNG))]
    staged.append(StagedImage(name="b.png", content=image))

    call = asyncio.create_task(keep(staged, chat.folder))
    await asyncio.to_thread(image.asked.wait, 5)
    call.cancel()
    asyncio.get_running_loop().call_soon(image.go_on.set)
    with pytest.raises(asyncio.CancelledError):
        await call

    assert chat.left() == []


class SlowImage(io.BytesIO):
    """An image whose copying waits for the test."""

    def __init__(self, content: bytes) -> None:
        super().__init__(content)
        self.asked, self.go_on = threading.Event(), threading.Event()

    def seek(self, offset: int, whence: int = 0, /) -> int:
        self.asked.set()
        assert self.go_on.wait(5)
        return super().seek(offset, whence)


@pytest.mark.parametrize(
    ("ref", "text"),
    [
        ("https://user:pw@host.example:81/a/b.png?key=1#x", "'https://host.example/a/b.png'"),
        ("ftp://user:pw@host/a?key=1", "'ftp://host/a'"),
        ("https:/host/a?key=1", "'https:///host/a'"),
        ("https://[secret?key=1", "'https://...'"),
        ("user:pw@host/a.png?key=1", "'host/a.png'"),
        ("/a/b\nc.png", r"'/a/b\nc.png'"),
        ("/" + "a" * 50 + "b" * 5000, "'/" + "a" * 50 + "b" * 9 + "..." + "b" * 20 + "'"),
        ("data:text/html,<p>secret", "inline image of 24 characters"),
        ("base64://c2VjcmV0", "inline image of 17 characters"),
    ],
)
def test_a_reference_is_shown_short_and_without_secrets(ref: str, text: str) -> None:
    assert shown(ref) == text
