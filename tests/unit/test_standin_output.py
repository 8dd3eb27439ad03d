"""What of AstrBot's output the demo shows."""

import io

import pytest

from launcher.astrbot_output import AstrBotOutput


def test_errors_are_shown_until_the_start_is_over_and_always_logged(
    capsys: pytest.CaptureFixture[str],
) -> None:
    output, log = AstrBotOutput(), io.StringIO()
    error = "\x1b[31m[12:00:00.000]\x1b[0m [Core] [ERRO] [x:1]: no answer\n"

    for line in ("[12:00:00.000] [Core] [INFO] [x:1]: fine\n", error, "Traceback\n"):
        output.take(line, log)
    output.is_shown = False
    for line in (error, "Traceback\n"):
        output.take(line, log)

    assert capsys.readouterr().out.splitlines() == [
        "  astrbot: [12:00:00.000] [Core] [ERRO] [x:1]: no answer",
        "  astrbot: (more in the log)",
    ]
    assert log.getvalue().count("[ERRO]") == log.getvalue().count("Traceback") == 2
    assert list(output.last_lines) == log.getvalue().splitlines()
