"""The dashboard's login: who is let in, for how long, and who has to wait."""

import stat
from pathlib import Path

import pytest

from astrbot_plugin_subagents.dashboard_api.server import Place
from astrbot_plugin_subagents.dashboard_api.server.login import (
    FAILURES_IN_ALL,
    FAILURES_PER_ADDRESS,
    IDLE_SECONDS,
    LONGEST_SECONDS,
    SIGNED_IN_AT_MOST,
    WINDOW_SECONDS,
    LoginLimiter,
    SignIns,
)
from astrbot_plugin_subagents.dashboard_api.server.token_file import TOKEN_FILE, token_in
from astrbot_plugin_subagents.manager.testing import FakeClock

TOKEN = "correct horse battery"


def test_an_address_that_failed_too_often_waits_until_its_first_failure_is_old() -> None:
    clock = FakeClock()
    limiter = LoginLimiter(clock)

    for _ in range(FAILURES_PER_ADDRESS):
        assert limiter.wait_seconds("a") == 0
        limiter.failed("a")
        clock.advance(1)

    assert limiter.wait_seconds("a") == WINDOW_SECONDS - FAILURES_PER_ADDRESS
    assert limiter.wait_seconds("b") == 0
    clock.advance(WINDOW_SECONDS - FAILURES_PER_ADDRESS)
    assert limiter.wait_seconds("a") == 0


def test_many_addresses_that_fail_make_all_wait() -> None:
    clock = FakeClock()
    limiter = LoginLimiter(clock)

    for number in range(FAILURES_IN_ALL):
        assert limiter.wait_seconds("new") == 0
        limiter.failed(f"address {number}")

    assert limiter.wait_seconds("new") == WINDOW_SECONDS
    clock.advance(WINDOW_SECONDS)
    assert limiter.wait_seconds("new") == 0


def test_a_wait_is_never_said_to_be_shorter_than_it_is() -> None:
    clock = FakeClock()
    limiter = LoginLimiter(clock)
    for _ in range(FAILURES_PER_ADDRESS):
        limiter.failed("a")

    clock.advance(WINDOW_SECONDS - 0.25)

    assert limiter.wait_seconds("a") == 1


@pytest.mark.parametrize("wrong", ["", "correct horse batter", f"{TOKEN} ", "\ud800", "ü" * 99])
def test_only_the_token_signs_in(wrong: str) -> None:
    sign_ins = SignIns(TOKEN, FakeClock())

    assert sign_ins.sign_in(wrong) is None
    assert not sign_ins.is_signed_in("")


def test_each_sign_in_is_one_of_its_own_until_its_sign_out() -> None:
    sign_ins = SignIns(TOKEN, FakeClock())
    first, second = sign_ins.sign_in(TOKEN), sign_ins.sign_in(TOKEN)
    assert first is not None
    assert second is not None

    sign_ins.sign_out(first)
    sign_ins.sign_out(first)

    assert first != second
    assert len(first) >= 43
    assert not sign_ins.is_signed_in(first)
    assert sign_ins.is_signed_in(second)


def test_who_is_away_for_long_is_signed_out_and_who_is_not_stays() -> None:
    clock = FakeClock()
    sign_ins = SignIns(TOKEN, clock)
    away, here = sign_ins.sign_in(TOKEN), sign_ins.sign_in(TOKEN)
    assert away is not None
    assert here is not None

    clock.advance(IDLE_SECONDS - 1)
    assert sign_ins.is_signed_in(here)
    clock.advance(1)

    assert not sign_ins.is_signed_in(away)
    assert sign_ins.is_signed_in(here)


def test_what_goes_on_by_itself_keeps_nobody_signed_in() -> None:
    clock = FakeClock()
    sign_ins = SignIns(TOKEN, clock)
    session = sign_ins.sign_in(TOKEN) or ""

    clock.advance(IDLE_SECONDS - 1)
    assert sign_ins.is_open(session)
    clock.advance(1)

    assert not sign_ins.is_open(session)
    assert not sign_ins.is_signed_in(session)


def test_where_a_server_is_tells_no_token() -> None:
    assert TOKEN not in repr(Place(host="127.0.0.1", port=1, token=TOKEN))


def test_everybody_signs_in_anew_after_a_week() -> None:
    clock = FakeClock()
    sign_ins = SignIns(TOKEN, clock)
    session = sign_ins.sign_in(TOKEN)
    assert session is not None

    steps = 0
    while sign_ins.is_signed_in(session):
        clock.advance(IDLE_SECONDS / 2)
        steps += 1

    assert steps * IDLE_SECONDS / 2 == LONGEST_SECONDS


def test_of_too_many_the_one_that_was_used_least_lately_goes() -> None:
    sign_ins = SignIns(TOKEN, FakeClock())
    sessions = [sign_ins.sign_in(TOKEN) or "" for _ in range(SIGNED_IN_AT_MOST)]
    assert sign_ins.is_signed_in(sessions[0])

    newest = sign_ins.sign_in(TOKEN) or ""

    assert not sign_ins.is_signed_in(sessions[1])
    assert all(sign_ins.is_signed_in(each) for each in (sessions[0], sessions[2], newest))


def test_a_login_without_a_token_cannot_be_made() -> None:
    with pytest.raises(ValueError, match="let everybody in"):
        SignIns("", FakeClock())


def test_a_token_that_nobody_set_is_made_once_and_for_its_owners_eyes(tmp_path: Path) -> None:
    made = token_in(tmp_path)

    assert token_in(tmp_path) == made
    assert len(made) == 32
    assert stat.S_IMODE((tmp_path / TOKEN_FILE).stat().st_mode) == 0o600


def test_a_token_that_somebody_wrote_into_the_file_counts(tmp_path: Path) -> None:
    (tmp_path / TOKEN_FILE).write_text(f"  {TOKEN}\n")

    assert token_in(tmp_path) == TOKEN


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    with pytest.raises(OSError, match=TOKEN_FILE):
        token_in(tmp_path / "nowhere")
