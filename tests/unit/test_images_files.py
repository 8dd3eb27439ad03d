"""Image files that a model names: read only inside allowed folders, whatever the path plays."""

import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from astrbot_plugin_subagents.plugin.image_content import MAX_BYTES, Refused
from astrbot_plugin_subagents.plugin.image_files import read_image_file

INSIDE, SECRET = b"inside", b"secret"


class Place:
    """A folder that is allowed, one that is not, and links between them."""

    def __init__(self, root: Path) -> None:
        self.allowed = root / "chat"
        self.other = root / "chat-of-others"
        self.allowed.joinpath("deep", "deeper").mkdir(parents=True)
        self.other.mkdir()
        self.allowed.joinpath("a.png").write_bytes(INSIDE)
        self.allowed.joinpath("deep", "a.png").write_bytes(INSIDE)
        self.other.joinpath("a.png").write_bytes(SECRET)
        self.allowed.joinpath("out").symlink_to(self.other, target_is_directory=True)
        self.allowed.joinpath("out.png").symlink_to(self.other / "a.png")
        self.allowed.joinpath("in.png").symlink_to("deep/a.png")
        self.allowed.joinpath("up").symlink_to("..", target_is_directory=True)
        self.allowed.joinpath("loop").symlink_to("loop")
        self.other.joinpath("in").symlink_to(self.allowed, target_is_directory=True)

    def read(self, ref: str, *message_images: str) -> bytes:
        return read_image_file(ref, message_images=message_images, roots=[self.allowed])


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.fixture(scope="module")
def lasting_place() -> Iterator[Place]:
    with TemporaryDirectory() as folder:
        yield Place(Path(folder))


@pytest.mark.parametrize(
    "path", ["a.png", "deep/a.png", "deep/../a.png", "in.png", "out/in/a.png", "deep//./a.png"]
)
@pytest.mark.parametrize("prefix", ["", "file://", "file://localhost", "FILE://", "file:///"])
def test_a_file_that_lies_inside_is_read(place: Place, path: str, prefix: str) -> None:
    assert place.read(f"{prefix}{place.allowed}/{path}") == INSIDE


def test_a_file_uri_may_be_quoted(place: Place) -> None:
    place.allowed.joinpath("a b%.png").write_bytes(INSIDE)

    assert place.read(place.allowed.joinpath("a b%.png").as_uri()) == INSIDE


@pytest.mark.parametrize(
    "path",
    [
        "../chat-of-others/a.png",
        "out/a.png",
        "out.png",
        "up/chat-of-others/a.png",
        "deep/../../chat-of-others/a.png",
        "../chat-of-others/missing.png",
        "../../../../../../../../etc/passwd",
        "..",
    ],
)
def test_a_file_that_lies_elsewhere_is_refused(place: Place, path: str) -> None:
    with pytest.raises(Refused, match="outside"):
        place.read(f"{place.allowed}/{path}")


@pytest.mark.parametrize(
    "path", ["", ".", "deep", "missing.png", "loop", "a.png/a.png", "a\0.png", "\ud800", "a" * 5000]
)
def test_what_is_no_readable_file_is_refused(place: Place, path: str) -> None:
    with pytest.raises(Refused):
        place.read(f"{place.allowed}/{path}")


@pytest.mark.parametrize(
    "ref", ["a.png", "./a.png", "~/a.png", "", "file://host/a.png", "file:a.png", "x://a.png"]
)
def test_only_absolute_paths_are_read(
    place: Place, ref: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(place.allowed)

    with pytest.raises(Refused, match="absolute path"):
        place.read(ref)


def make_pipe(path: Path) -> None:
    os.mkfifo(path)


def make_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        # Its address may not be longer than some hundred bytes.
        here = Path.cwd()
        os.chdir(path.parent)
        server.bind(path.name)
        os.chdir(here)


@pytest.mark.parametrize("make", [make_pipe, make_socket, Path.mkdir])
def test_only_regular_files_are_read(place: Place, make: Callable[[Path], None]) -> None:
    make(place.allowed / "special.png")

    with pytest.raises(Refused):
        place.read(f"{place.allowed}/special.png")


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/stdin", "/proc/self/environ"])
def test_devices_are_refused_even_as_images_of_the_message(place: Place, device: str) -> None:
    with pytest.raises(Refused):
        place.read(device)
    with pytest.raises(Refused):
        place.read("/dev/zero", "/dev/zero")


def test_the_largest_file_is_read_and_one_byte_more_is_refused(place: Place) -> None:
    file = place.allowed / "large.png"
    file.write_bytes(bytes(MAX_BYTES))
    assert len(place.read(str(file))) == MAX_BYTES

    file.write_bytes(bytes(MAX_BYTES + 1))
    with pytest.raises(Refused, match="too large"):
        place.read(str(file))


def test_images_of_the_message_are_read_wherever_they_lie(place: Place) -> None:
    path = str(place.other / "a.png")
    uri = place.other.joinpath("a.png").as_uri()

    assert place.read(path, path) == SECRET
    assert place.read(path, "https://example.com/a", uri) == SECRET
    assert place.read(uri, path) == SECRET
    assert place.read(f"{place.allowed}/out.png", path) == SECRET


def test_a_relative_path_of_the_message_is_read_word_for_word(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(place.other)

    assert place.read("a.png", "a.png") == SECRET
    with pytest.raises(Refused):
        place.read("./a.png", "a.png")


def test_an_image_of_the_message_opens_no_other_file_beside_it(place: Place) -> None:
    place.other.joinpath("b.png").write_bytes(SECRET)

    odd = "", "\0", "\ud800", "data:x,y", str(place.other / "a.png")
    with pytest.raises(Refused, match="outside"):
        place.read(str(place.other / "b.png"), *odd)
    assert place.read(str(place.other / "a.png"), *odd) == SECRET


def test_a_refusal_names_the_allowed_folders(place: Place) -> None:
    with pytest.raises(Refused, match=str(place.allowed)):
        place.read("/etc/passwd")


@pytest.mark.parametrize("swapped", ["deep", "deep/a.png"])
@pytest.mark.parametrize("stepwise", [True, False])
def test_a_link_that_is_swapped_in_after_the_check_is_not_followed(
    place: Place, swapped: str, stepwise: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Windows cannot open stepwise."""
    open_file = os.open

    def swap_and_open(path: str | Path, flags: int, **where: int) -> int:
        victim = place.allowed / swapped
        if not victim.is_symlink():
            victim.rename(place.allowed / "moved")
            target = place.other if swapped == "deep" else place.other / "a.png"
            victim.symlink_to(target)
        return open_file(path, flags, **where)

    monkeypatch.setattr(os, "open", swap_and_open)
    monkeypatch.setattr(os, "supports_dir_fd", {swap_and_open} if stepwise else set())
    with pytest.raises(Refused, match="cannot be read"):
        place.read(f"{place.allowed}/deep/a.png")


PIECES = st.sampled_from(
    ["..", ".", "", "deep", "deeper", "a.png", "out", "in", "up", "out.png", "in.png", "loop",
     "chat", "chat-of-others", "~", "%2e%2e", "..;", "...", "a.png\n", "A.PNG", "\\..\\", "\u2025"]
)  # fmt: skip


@given(st.lists(PIECES, max_size=9))
@example(["up", "up", "chat", "out", "in", "a.png"])
def test_no_path_reads_a_file_from_elsewhere(lasting_place: Place, pieces: list[str]) -> None:
    path = "/".join((str(lasting_place.allowed), *pieces))
    real = Path(os.path.realpath(path))
    inside = real.is_relative_to(os.path.realpath(lasting_place.allowed))
    try:
        content = lasting_place.read(path)
    except Refused:
        content = None

    assert content == (INSIDE if inside and real.is_file() else None)
