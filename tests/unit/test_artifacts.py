"""What a child's tools made is copied into the session's folder when its run ends."""

import asyncio
import os
import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_subagents.manager import Run, RunId, RunState, SessionId, Settings
from astrbot_plugin_subagents.manager.artifacts import MOST_BYTES, keep_artifacts
from astrbot_plugin_subagents.manager.models import (
    AgentName,
    Artifact,
    ConversationId,
    OwnerId,
)
from astrbot_plugin_subagents.manager.store import MemoryStore
from astrbot_plugin_subagents.manager.testing import (
    EPOCH,
    Fail,
    Hang,
    Say,
    Script,
    Use,
    says,
)
from astrbot_plugin_subagents.manager.workdir import session_folder
from astrbot_plugin_subagents.subagent_tools.reports import report, reports
from support import core
from support.making import MakingHost

make_core = core.make_core

CHAT = SessionId("chat")


@pytest.fixture
def temp(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The host's temporary folder."""
    return tmp_path_factory.mktemp("temp")


def a_file(folder: Path, name: str, content: bytes = b"content", kind: str = "file") -> Artifact:
    """A file that a tool made."""
    path = folder / name
    path.write_bytes(content)
    return Artifact(kind=kind, path=str(path), name=name)


def content_of(made: Artifact) -> bytes:
    """What is in a file that a run names."""
    return Path(made.path).read_bytes()


def a_run(*made: Artifact) -> Run:
    """A run that is about to end."""
    return Run(
        run_id=RunId("run1"),
        session=CHAT,
        agent=AgentName("scout"),
        conversation=ConversationId("c"),
        state=RunState.COMPLETED,
        input="Draw.",
        owner=OwnerId("alice"),
        created_at=EPOCH,
        last_text="Drawn.",
        artifacts=made,
    )


def place(files: Path) -> Path:
    """Where the copies of `a_run` are."""
    return session_folder(files, CHAT) / "_artifacts" / "run1"


async def test_a_result_names_copies_that_outlive_the_hosts_files(
    make_core: core.MakeCore, temp: Path
) -> None:
    made = [a_file(temp, "chart.png", b"png", "image"), a_file(temp, "table.csv", b"1,2")]
    it = await make_core(
        host=MakingHost(says(Use(tool="draw"), Use(tool="draw"), Say(text="x")), made)
    )
    turn = await it.turn()
    await it.create("scout", turn)

    reply = await it.call("transfer_to_scout", turn, input="Draw.")
    shutil.rmtree(temp)

    run = await it.run(core.task_id(reply))
    folder = session_folder(it.services.files, CHAT) / "_artifacts" / run.run_id
    assert run.artifacts == (
        Artifact(kind="image", path=str(folder / "chart.png"), name="chart.png"),
        Artifact(kind="file", path=str(folder / "table.csv"), name="table.csv"),
    )
    assert await it.store.get_run(CHAT, run.run_id) == run
    assert (folder / "chart.png").read_bytes() == b"png"
    assert (folder / "table.csv").read_bytes() == b"1,2"
    assert f"made image: {folder}/chart.png\nmade file: {folder}/table.csv\n" in reply
    assert reply.count("`send_message_to_user`, if you have one") == 1


@pytest.mark.parametrize(
    ("script", "state"),
    [
        (says(Use(tool="draw"), Fail()), RunState.FAILED),
        (says(Use(tool="draw"), Hang()), RunState.CANCELLED),
    ],
)
async def test_however_a_run_ends_its_files_are_kept(
    make_core: core.MakeCore, temp: Path, script: Script, state: RunState
) -> None:
    it = await make_core(host=MakingHost(script, [a_file(temp, "a.txt")]))
    turn = await it.turn()
    await it.create("scout", turn)
    run_id = core.task_id(await it.call("transfer_to_scout", turn, input="x", background_task=True))
    await core.settled()
    if state is RunState.CANCELLED:
        await it.call("cancel_subagent_task", turn, task_id=run_id)
    await it.until_over(run_id)

    run = await it.run(run_id)

    assert run.state is state
    assert [content_of(made) for made in run.artifacts] == [b"content"]
    assert Path(run.artifacts[0].path).is_relative_to(it.services.files)


async def test_files_of_a_run_that_a_restart_cut_off_are_kept(
    make_core: core.MakeCore, temp: Path
) -> None:
    store = MemoryStore()
    it = await make_core(
        host=MakingHost(says(Use(tool="draw"), Hang()), [a_file(temp, "a.txt")]), store=store
    )
    turn = await it.turn()
    await it.create("scout", turn)
    run_id = core.task_id(await it.call("transfer_to_scout", turn, input="x", background_task=True))
    await core.settled()
    await it.sessions.close()

    again = await make_core(
        store=store, executor="process2", settings=Settings(resume_on_restart=False)
    )

    run = await again.run(run_id)
    assert run.state is RunState.INTERRUPTED
    assert Path(run.artifacts[0].path).is_relative_to(again.services.files)
    assert content_of(run.artifacts[0]) == b"content"


async def test_what_cannot_be_kept_is_left_out_and_the_result_says_so(
    make_core: core.MakeCore, temp: Path
) -> None:
    gone = Artifact(kind="image", path=str(temp / "gone.png"), name="gone.png")
    it = await make_core(
        host=MakingHost(says(Use(tool="draw"), Say(text="x")), [gone, a_file(temp, "there.txt")])
    )
    turn = await it.turn()
    await it.create("scout", turn)

    reply = await it.call("transfer_to_scout", turn, input="Draw.")

    run = await it.run(core.task_id(reply))
    assert run.state is RunState.COMPLETED
    assert [(made.name, bool(made.path)) for made in run.artifacts] == [
        ("gone.png", False),
        ("there.txt", True),
    ]
    assert "made image gone.png, but it could not be kept" in reply
    assert str(temp) not in reply


async def test_a_run_of_which_nothing_could_be_kept_gets_no_folder_and_no_hint(
    tmp_path: Path, temp: Path
) -> None:
    lost = await keep_artifacts(
        a_run(Artifact(kind="file", path=str(temp / "gone"), name="gone")), tmp_path / "files"
    )

    assert lost.artifacts == (Artifact(kind="file", path="", name="gone"),)
    assert not (tmp_path / "files").exists()
    assert "send_message_to_user" not in report(lost, limit=100)


async def test_a_file_up_to_the_limit_is_kept_and_a_larger_one_is_not(
    tmp_path: Path, temp: Path
) -> None:
    for name, size in (("good", MOST_BYTES), ("large", MOST_BYTES + 1)):
        (temp / name).touch()
        os.truncate(temp / name, size)
    made = [Artifact(kind="file", path=str(temp / name)) for name in ("good", "large")]

    kept = await keep_artifacts(a_run(*made), tmp_path)

    assert [made.path for made in kept.artifacts] == [str(place(tmp_path) / "good"), ""]
    assert [path.name for path in place(tmp_path).iterdir()] == ["good"]
    assert (place(tmp_path) / "good").stat().st_size == MOST_BYTES


@pytest.mark.parametrize("kind", ["link", "link to folder", "folder", "pipe", "nothing", "nul", ""])
async def test_only_plain_files_are_copied(tmp_path: Path, temp: Path, kind: str) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("secret")
    path = temp / "made"
    match kind:
        case "link":
            path.symlink_to(secret)
        case "link to folder":
            path.symlink_to(tmp_path)
        case "folder":
            path.mkdir()
        case "pipe":
            os.mkfifo(path)
    wanted = {"nul": "\0", "": ""}.get(kind, str(path))

    async with asyncio.timeout(core.LONG):
        kept = await keep_artifacts(a_run(Artifact(kind="file", path=wanted)), tmp_path / "files")

    assert [made.path for made in kept.artifacts] == [""]
    assert not (tmp_path / "files").exists()


@pytest.mark.parametrize("step", ["session", "artifacts", "run", "copy"])
async def test_nothing_is_written_where_a_planted_link_leads(
    tmp_path: Path, temp: Path, step: str
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "a.txt").write_text("precious")
    files = tmp_path / "files"
    target = place(files)
    link = {
        "session": target.parent.parent,
        "artifacts": target.parent,
        "run": target,
        "copy": target / "a.txt",
    }[step]
    link.parent.mkdir(parents=True)
    link.symlink_to(outside / "a.txt" if step == "copy" else outside)

    kept = await keep_artifacts(a_run(a_file(temp, "a.txt", b"new")), files)

    assert [path.name for path in outside.iterdir()] == ["a.txt"]
    assert (outside / "a.txt").read_text() == "precious"
    assert bool(kept.artifacts[0].path) is (step == "copy")
    if step == "copy":
        assert not (target / "a.txt").is_symlink()
        assert (target / "a.txt").read_bytes() == b"new"


async def test_copying_twice_gives_the_same_copies(tmp_path: Path, temp: Path) -> None:
    run = a_run(a_file(temp, "a.txt"), a_file(temp, "b.txt"))

    first = await keep_artifacts(run, tmp_path)
    second = await keep_artifacts(run, tmp_path)

    assert first == second
    assert sorted(path.name for path in place(tmp_path).iterdir()) == ["a.txt", "b.txt"]


@pytest.mark.parametrize(
    ("names", "kept"),
    [
        (["a.txt", "a.txt", "A.TXT"], ["a.txt", "a_2.txt", "A_3.TXT"]),
        (["../../etc/passwd", "..", ".", ""], ["etc_passwd", "file", "file_2", "made3"]),
        (["con.txt", "NUL", "com1.tar.gz"], ["file_con.txt", "file_NUL", "file_com1.tar.gz"]),
        (["a b\nstate: done.png", ".hidden"], ["a_b_state_done.png", "hidden"]),
        (["Отчёт.pdf", "图.png"], ["Отчёт.pdf", "图.png"]),
        (["x" * 300 + ".png"], ["x" * 40 + ".png"]),
        (["bad\ud800name\0.png"], ["bad_name_.png"]),
    ],
)
async def test_names_are_made_safe_and_different(
    tmp_path: Path, temp: Path, names: list[str], kept: list[str]
) -> None:
    made = [
        core.replace(a_file(temp, f"made{number}"), name=name) for number, name in enumerate(names)
    ]

    run = await keep_artifacts(a_run(*made), tmp_path)

    assert [item.name for item in run.artifacts] == kept
    assert [item.path for item in run.artifacts] == [str(place(tmp_path) / name) for name in kept]


@given(st.lists(st.text(max_size=300), min_size=1, max_size=5))
def test_any_name_stays_in_the_runs_folder(
    tmp_path_factory: pytest.TempPathFactory, names: list[str]
) -> None:
    folder = tmp_path_factory.mktemp("any", numbered=True)
    made = [core.replace(a_file(folder, "made"), name=name) for name in names]

    run = asyncio.run(keep_artifacts(a_run(*made), folder / "files"))

    paths = [Path(item.path) for item in run.artifacts]
    assert {path.parent for path in paths} == {place(folder / "files")}
    assert len({path.name.casefold() for path in paths}) == len(names)
    assert all(path.is_file() for path in paths)


def test_a_report_lists_a_few_files_and_counts_the_rest() -> None:
    kept = [Artifact(kind="file", path=f"/kept/{each}") for each in range(25)]
    lost = [Artifact(kind="file", path="", name=f"lost{each}") for each in range(25)]

    text = report(a_run(*kept, *lost), limit=100)

    assert text.count("made file: /kept/") == 10
    assert "\nmade 15 more\n" in text
    assert text.count("could not be kept: it is gone") == 10
    assert "\nmade 15 more that could not be kept\n" in text


def test_a_result_for_which_a_reply_has_no_room_still_says_that_it_made_files() -> None:
    made = Artifact(kind="file", path="/kept/a", name="a")
    run = core.replace(a_run(made), last_text="word " * 1000)

    text = reports([run] * 100, limit=8000)

    assert text.count("completed, made 1 file; read it with `read_subagent_result`") == 100
