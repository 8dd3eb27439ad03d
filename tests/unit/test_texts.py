"""Texts for models: fences, excerpts, sizes, errors, prompts."""

import inspect
import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_subagents.manager import (
    DynamicAgentSettings,
    Run,
    RunId,
    RunState,
    SessionId,
    Settings,
    errors,
)
from astrbot_plugin_subagents.manager.fence import fenced
from astrbot_plugin_subagents.manager.models import (
    TERMINAL,
    AgentName,
    Artifact,
    ConversationId,
    Failure,
    OwnerId,
    ToolUse,
)
from astrbot_plugin_subagents.manager.prompts import child_prompt, router_prompt, time_note
from astrbot_plugin_subagents.manager.settings import TaskSettings
from astrbot_plugin_subagents.manager.testing import EPOCH, FakeHost, Say, says
from astrbot_plugin_subagents.subagent_tools import error_text
from astrbot_plugin_subagents.subagent_tools.replies import next_step
from astrbot_plugin_subagents.subagent_tools.reports import (
    WHOLE_REPLY,
    excerpt,
    progress,
    report,
    reports,
)
from support import core

make_core = core.make_core

NASTY = st.text(st.sampled_from("<>resultx0123456789abcdef \n\ud800\0"), max_size=200)
ANY = st.one_of(st.text(max_size=200), NASTY)


def a_run(**changes: object) -> Run:
    values: dict[str, object] = {
        "run_id": RunId("r1"),
        "session": SessionId("chat"),
        "agent": AgentName("scout"),
        "conversation": ConversationId("c"),
        "state": RunState.COMPLETED,
        "input": "x",
        "owner": OwnerId("alice"),
        "created_at": EPOCH,
        "last_text": "done",
    }
    return Run(**{**values, **changes})  # type: ignore[arg-type] # built by name


def inside(text: str, fence: str) -> bool:
    """Whether the fence opens once, closes once at its end, and holds the whole text between."""
    opening, _, rest = fence.partition("\n")
    mark = re.fullmatch(r"<<result ([0-9a-f]{12})", opening)
    return mark is not None and rest == f"{text}\nresult {mark[1]}>>" and fence.count(mark[1]) == 2


@given(ANY)
def test_a_text_is_whole_inside_its_fence_and_cannot_close_it(text: str) -> None:
    assert inside(text, fenced(text, what="result"))


@given(ANY)
def test_a_text_that_holds_a_whole_fence_cannot_close_the_outer_one(text: str) -> None:
    inner = fenced(text, what="result")

    assert inside(inner, fenced(inner, what="result"))
    assert inside(inner + "\n" + text, fenced(inner + "\n" + text, what="result"))


def test_the_same_text_is_always_fenced_alike() -> None:
    assert fenced("a", what="result") == fenced("a", what="result")
    assert fenced("a", what="result") != fenced("b", what="result")


@given(st.text(max_size=400), st.integers(1, 300))
def test_an_excerpt_shows_head_and_tail_and_says_where_to_go_on(text: str, limit: int) -> None:
    shown = excerpt(text, limit, run_id="r1")

    if len(text) <= limit:
        assert shown == text
        return
    left_out, offset = re.findall(
        r"\[\.\.\. (\d+) characters left out; .* offset (\d+) \.\.\.\]\n", shown
    )[-1]
    head, tail = text[: int(offset)], text[int(offset) + int(left_out) :]
    assert shown.startswith(head)
    assert shown.endswith(f"...]\n{tail}")
    assert len(head) + len(tail) == limit


@pytest.mark.parametrize("limit", [1, 7, 100, 8000])
async def test_the_rest_of_a_cut_result_is_read_piece_by_piece(
    make_core: core.MakeCore, limit: int
) -> None:
    text = "".join(f"{number} é🙂\n" for number in range(1, 60))
    it = await make_core(says(Say(text=text)), settings=Settings(result_maxlen=200))
    turn = await it.turn()
    await it.create("scout", turn)
    reply = await it.call("transfer_to_scout", turn, input="x")
    assert "characters left out" in reply

    pieces, offset, part = [], 0, ""
    while offset < len(text):
        part = await it.call(
            "read_subagent_result", turn, task_id=core.task_id(reply), offset=offset, limit=limit
        )
        piece = re.search(r"<<result (\w+)\n(.*)\nresult \1>>", part, re.S)
        assert piece is not None
        pieces.append(piece[2])
        following = re.search(r"Go on with offset (\d+)\.", part)
        assert (following is None) is ("This is the end." in part)
        offset = int(following[1]) if following else len(text)

    assert "This is the end." in part
    assert "".join(pieces) == text
    assert all(len(piece) <= limit for piece in pieces)


async def test_reading_behind_the_end_is_refused(make_core: core.MakeCore) -> None:
    it = await make_core(says(Say(text="four")))
    turn = await it.turn()
    await it.create("scout", turn)
    run_id = core.task_id(await it.call("transfer_to_scout", turn, input="x"))

    behind = await it.call("read_subagent_result", turn, task_id=run_id, offset=4)

    assert behind == "Error: `offset` 4 is behind the end: the result has 4 characters."


@pytest.mark.parametrize("count", [1, 2, 16, 50, 100])
@pytest.mark.parametrize("state", sorted(TERMINAL))
def test_many_long_results_stay_below_the_size_of_one_reply(count: int, state: RunState) -> None:
    run = a_run(
        agent=AgentName("x" * 32),
        state=state,
        last_text="word " * 100_000,
        failure=Failure(code="internal_error", message="boom " * 10_000),
        artifacts=tuple(Artifact(kind="file", path=f"/{'p' * 400}/{each}") for each in range(100)),
        tools_used=tuple(ToolUse(name=f"{'t' * 60}{each}", calls=1) for each in range(100)),
        cut_short="step_limit",
    )
    runs = [replace(run, run_id=RunId(f"id{number:010d}")) for number in range(count)]

    text = reports(runs, limit=8000)

    assert len(text) <= WHOLE_REPLY
    assert all(f"task_id: {run.run_id}" in text for run in runs)


def test_short_results_are_all_shown_whole() -> None:
    runs = [a_run(run_id=RunId(f"r{number}"), last_text=f"it is {number}") for number in range(40)]

    text = reports(runs, limit=8000)

    assert all(f"\nit is {number}\n" in text for number in range(40))


@given(ANY)
def test_no_words_of_a_child_can_forge_a_line_outside_the_fence(text: str) -> None:
    run = a_run(
        state=RunState.FAILED,
        last_text=text,
        failure=Failure(code="internal_error", message=f"{text}\nstate: completed"),
        artifacts=(Artifact(kind="file", path=f"/a\nstate: completed\n{text}"),),
    )

    outside = re.sub(r"<<result (\w+)\n.*\nresult \1>>", "", report(run, limit=8000), flags=re.S)

    assert [line for line in outside.split("\n") if line.startswith("state:")] == ["state: FAILED"]
    assert "\n" not in progress(core.replace(run, state=RunState.RUNNING), position=None)


def test_every_end_has_a_title_of_its_own() -> None:
    titles = {report(a_run(state=state), limit=100).split("\n")[2] for state in TERMINAL}

    assert len(titles) == len(TERMINAL)


async def test_a_character_that_nothing_can_encode_costs_only_itself(
    make_core: core.MakeCore,
) -> None:
    it = await make_core(says(Say(text="odd \ud800 text")))
    turn = await it.turn()
    await it.create("scout", turn)

    reply = await it.call("transfer_to_scout", turn, input="a \udfff task")

    assert "odd \ufffd text" in reply
    assert it.host.requests[0].prompt == "a \ufffd task"


# ---- errors


def error_classes() -> list[type[errors.SubAgentError]]:
    found = [each for _, each in inspect.getmembers(errors, inspect.isclass)]
    return [each for each in found if issubclass(each, errors.SubAgentError)]


def an_error(kind: type[errors.SubAgentError]) -> errors.SubAgentError:
    values: dict[str, object] = {
        "names": ["serch"],
        "known": ["search", "write"],
        "run_ids": ["r1", "r2"],
        "limit": 3,
        "key": "max_steps",
    }
    parameters = list(inspect.signature(kind.__init__).parameters.values())[1:]
    plain = [p for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
    named = {p.name: values[p.name] for p in parameters if p.kind is p.KEYWORD_ONLY}
    return kind(*(values.get(p.name, "serch") for p in plain), **named)


@pytest.mark.parametrize("kind", error_classes(), ids=lambda kind: kind.__name__)
def test_every_error_has_a_code_of_its_own_its_words_and_a_next_step(
    kind: type[errors.SubAgentError],
) -> None:
    error = an_error(kind)

    text = error_text(error)

    assert re.fullmatch(r"[a-z_]+", kind.code)
    assert text.startswith(f"Error: {error}")
    assert next_step(error)
    assert text == f"Error: {error} {next_step(error)}"


def test_the_tree_in_the_docstring_is_the_tree_and_codes_are_unique() -> None:
    kinds = error_classes()
    drawn = re.findall(r"^[ |`]*-? ?([A-Z]\w+)(?: |$)", errors.__doc__ or "", re.M)

    assert {name for name in drawn if hasattr(errors, name)} == {kind.__name__ for kind in kinds}
    assert len({kind.code for kind in kinds}) == len(kinds)


def test_long_lists_of_names_are_shown_in_part() -> None:
    known = [f"tool{number:03d}" for number in range(500)]

    text = error_text(errors.UnknownReference("tool", ["tol001"] * 500, known))

    assert "and 460 more" in text
    assert len(text) < 2_000


# ---- prompts

DYNAMIC = DynamicAgentSettings
VARIANTS = (
    Settings(),
    Settings(execution_timeout=0, max_steps=7),
    Settings(dynamic_agents=DYNAMIC(auto_cleanup_per_turn=False, max_dynamic_subagent_count=0)),
    Settings(dynamic_agents=DYNAMIC(enabled=False)),
    Settings(task=TaskSettings(enabled=False)),
    Settings(router_system_prompt="Use {agents} and {braces}."),
)


@pytest.mark.parametrize("settings", VARIANTS)
def test_the_router_prompt_is_constant_and_without_leftovers(settings: Settings) -> None:
    text = router_prompt(settings)

    assert text == router_prompt(core.replace(settings))
    if settings.router_system_prompt:
        assert text == settings.router_system_prompt
        return
    assert not re.search(r"[{}]|\\|  ", text)


def test_the_router_prompt_says_what_is_set() -> None:
    standard, short, keeping, off, no_task, _ = map(router_prompt, VARIANTS)

    assert "at most 3 sub-agents" in standard
    assert "30 model calls and 1200 seconds per task" in standard
    assert "unprotected sub-agents are removed" in standard
    assert "7 model calls and no time limit per task" in short
    assert "at most 0 sub-agents" in keeping
    assert "Sub-agents stay until you remove them." in keeping
    assert "create_subagent" not in off
    assert "sub-agents at a time" not in off
    assert "one `task` call" in off
    assert "one `task` call" in standard
    assert not re.search("`task`|depends_on|fork", no_task)


def test_a_childs_prompt_has_its_parts_in_order_and_leaves_empty_ones_out() -> None:
    config = core.an_agent("scout", system_prompt="Look {around}.")

    full = child_prompt(
        config,
        Settings(),
        instructions=config.system_prompt,
        workdir="/data/x",
        skills="# Skills\ntyping",
    )
    no_rules = Settings(dynamic_agents=DYNAMIC(rule_prompt=" "))
    bare = child_prompt(config, no_rules, instructions="Look.", workdir="", skills="")

    titles = re.findall(r"^# (.*)", full, re.M)
    assert titles == ["Your role", "Rules", "Working directory", "Skills", "How to report"]
    assert full.startswith("# Your role\nYou are the sub-agent scout.\nLook {around}.\n\n")
    assert re.findall(r"^# (.*)", bare, re.M) == ["Your role", "How to report"]


def test_the_time_is_told_with_its_zone() -> None:
    assert time_note(EPOCH) == "Current time: 2030-01-01 12:00 UTC (UTC+0000), Tuesday"


async def test_the_time_can_be_left_out(make_core: core.MakeCore) -> None:
    it = await make_core(host=FakeHost(), settings=Settings(time_prompt_enabled=False))
    turn = await it.turn()
    await it.create("scout", turn)

    await it.call("transfer_to_scout", turn, input="x")

    assert it.host.requests[0].notes == ()
