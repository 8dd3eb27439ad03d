"""What a run may spend: steps, tokens, the same failing call; each end keeps what there was."""

from datetime import timedelta

import pytest

from astrbot_plugin_subagents.manager import Run, RunState, Settings, Turn
from astrbot_plugin_subagents.manager.models import ToolUse, Usage
from astrbot_plugin_subagents.manager.runs.budget import DayTokens, day_start
from astrbot_plugin_subagents.manager.testing import EPOCH, Act, FakeHost, Say, Use, says
from support import core

make_core = core.make_core

SEARCH = Use(tool="search", text="I look.")
BROKEN = Use(tool="search", is_error=True, output="no", text="I look.")


async def played(
    make_core: core.MakeCore, settings: Settings, *acts: Act
) -> tuple[core.Core, Turn, Run, str]:
    it = await make_core(host=FakeHost(says(*acts)), settings=settings)
    turn = await it.turn()
    await it.create("scout", turn)
    reply = await it.call("transfer_to_scout", turn, input="x")
    return it, turn, await it.run(core.task_id(reply)), reply


def code(run: Run) -> str:
    return run.failure.code if run.failure else ""


async def test_the_last_step_is_an_answer_without_tools_and_is_marked(
    make_core: core.MakeCore,
) -> None:
    _, _, run, reply = await played(
        make_core, Settings(max_steps=3), SEARCH, SEARCH, Say(text="as far as I came")
    )

    assert (run.state, run.steps, run.cut_short) == (RunState.COMPLETED, 3, "step_limit")
    assert run.last_text == "as far as I came"
    assert "had reached its step limit" in reply


async def test_a_run_that_answers_in_time_is_not_marked(make_core: core.MakeCore) -> None:
    _, _, run, reply = await played(make_core, Settings(max_steps=3), SEARCH, Say(text="done"))

    assert (run.state, run.steps, run.cut_short) == (RunState.COMPLETED, 2, "")
    assert "step limit" not in reply


async def test_a_child_that_does_not_answer_at_its_last_step_fails_with_what_it_had(
    make_core: core.MakeCore,
) -> None:
    _, _, run, reply = await played(make_core, Settings(max_steps=2), SEARCH, SEARCH, SEARCH)

    assert (run.state, code(run), run.steps) == (RunState.FAILED, "step_limit", 2)
    assert (run.last_text, run.cut_short) == ("I look.", "")
    assert "had reached its step limit" not in reply


async def test_one_step_is_one_answer(make_core: core.MakeCore) -> None:
    _, _, run, _ = await played(make_core, Settings(max_steps=1), Say(text="done"))

    assert (run.state, run.steps, run.cut_short) == (RunState.COMPLETED, 1, "")


async def test_a_run_that_has_spent_its_tokens_is_stopped_before_the_next_call(
    make_core: core.MakeCore,
) -> None:
    _, _, run, reply = await played(
        make_core, Settings(token_budget_per_run=30), SEARCH, SEARCH, Say(text="never")
    )

    assert (run.state, code(run)) == (RunState.FAILED, "token_budget")
    assert (run.usage.total, run.steps, run.last_text) == (30, 2, "I look.")
    assert run.tools_used == (ToolUse(name="search", calls=2),)
    assert "30 of 30 (setting `token_budget_per_run`)" in reply
    assert "\nI look.\n" in reply


async def test_cached_tokens_count_too(make_core: core.MakeCore) -> None:
    cached = Use(tool="search", usage=Usage(cached=40))

    _, _, run, _ = await played(make_core, Settings(token_budget_per_run=30), cached, SEARCH)

    assert (code(run), run.usage) == ("token_budget", Usage(cached=40))


async def test_an_answer_that_costs_more_than_is_left_is_still_an_answer(
    make_core: core.MakeCore,
) -> None:
    dear = Say(text="dear", usage=Usage(output=1000))

    _, _, run, _ = await played(make_core, Settings(token_budget_per_run=30), dear)

    assert (run.state, run.usage.total) == (RunState.COMPLETED, 1000)


async def test_the_days_tokens_are_shared_by_all_runs_of_a_session(
    make_core: core.MakeCore,
) -> None:
    it, turn, _, _ = await played(
        make_core, Settings(token_budget_per_session_day=20), SEARCH, Say(text="done")
    )

    reply = await it.call("transfer_to_scout", turn, input="x")
    other = await it.turn(session="other")
    await it.create("scout", other)
    elsewhere = await it.call("transfer_to_scout", other, input="x")

    run = await it.run(core.task_id(reply))
    assert (run.state, code(run), run.steps) == (RunState.FAILED, "token_budget_day", 0)
    assert "30 of 20 (setting `token_budget_per_session_day`)" in reply
    assert "state: completed" in elsewhere


async def test_the_days_tokens_are_new_at_midnight(make_core: core.MakeCore) -> None:
    it, turn, _, _ = await played(
        make_core, Settings(token_budget_per_session_day=20), SEARCH, Say(text="done")
    )
    it.clock.advance(12 * 3600 - 1)
    assert "token_budget_day" in await it.call("transfer_to_scout", turn, input="x")

    it.clock.advance(1)

    assert "state: completed" in await it.call("transfer_to_scout", turn, input="x")


async def test_the_days_tokens_survive_a_restart(make_core: core.MakeCore) -> None:
    settings = Settings(token_budget_per_session_day=20)
    it, _, _, _ = await played(make_core, settings, SEARCH, Say(text="done"))
    await it.sessions.close()
    root = await make_core(store=it.store, clock=it.clock, settings=settings, executor="process2")

    reply = await root.call("transfer_to_scout", await root.turn(), input="x")

    assert "[token_budget_day]" in reply


def test_the_days_tokens_turn_over_in_utc() -> None:
    day = DayTokens(day_start=day_start(EPOCH), used=5)
    evening = EPOCH + timedelta(hours=11, minutes=59)

    day.add(Usage(input=7), evening)
    assert day.used(evening) == 12
    day.add(Usage(output=1), EPOCH + timedelta(hours=12))
    assert day.used(EPOCH + timedelta(hours=13)) == 1
    assert day.used(EPOCH + timedelta(days=9)) == 0


async def test_the_same_failing_call_ends_the_run_and_what_it_had_is_kept(
    make_core: core.MakeCore,
) -> None:
    it, _, run, reply = await played(
        make_core, Settings(same_call_limit=3), BROKEN, BROKEN, BROKEN, Say(text="never")
    )

    assert (run.state, code(run), run.steps) == (RunState.FAILED, "same_call_limit", 3)
    assert run.tools_used == (ToolUse(name="search", calls=3, errors=3),)
    assert "failed 3 times in a row" in reply
    config = (await it.open()).agents()[0]
    roles = [body["role"] for body in await it.stored_messages(config)]
    assert roles == ["user", "assistant", "tool", "assistant", "tool"]


@pytest.mark.parametrize(
    "between",
    [
        SEARCH,
        Use(tool="write"),
        Use(tool="write", is_error=True),
        Use(tool="search", arguments='{"q": 1}', is_error=True),
    ],
    ids=["same call works", "other works", "other fails", "other arguments"],
)
async def test_anything_in_between_begins_the_count_anew(
    make_core: core.MakeCore, between: Act
) -> None:
    _, _, run, _ = await played(
        make_core, Settings(same_call_limit=2), BROKEN, between, BROKEN, Say(text="done")
    )

    assert run.state is RunState.COMPLETED


async def test_running_ones_keep_the_settings_they_began_with(make_core: core.MakeCore) -> None:
    chosen = [Settings(max_steps=2)]
    it = await make_core(says(SEARCH, Say(text="done")))
    turn = await it.turn()
    await it.create("scout", turn)
    object.__setattr__(it.services, "settings", lambda: chosen[0])
    manager = await it.open()

    run = await manager.delegate("scout", "x", turn, background=True)
    chosen[0] = Settings(max_steps=1)
    await it.until_over(run.run_id)

    assert (await it.run(run.run_id)).steps == 2
