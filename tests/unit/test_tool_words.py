"""What filters read from the name of a tool, however a plugin or a server wrote it."""

import pytest

from astrbot_plugin_subagents.manager.settings import CustomFilterSettings
from astrbot_plugin_subagents.manager.tool_filter import Custom, FullAccess, ToolFacts
from astrbot_plugin_subagents.manager.tool_words import CODE_STEMS, CODE_WORDS

FULL = FullAccess()


def is_denied(name: str, *, by: str) -> bool:
    """Tell whether both kinds of custom filters and `full` refuse a tool for a denied name."""
    filters = [
        Custom(settings=CustomFilterSettings(name="w", allowed=(name,), denied=(by,))),
        Custom(settings=CustomFilterSettings(name="b", mode="blacklist", denied=(by,))),
        FullAccess(denied=frozenset({by})),
    ]
    answers = {each.is_allowed(ToolFacts(name=name, reads_only=True)) for each in filters}
    assert len(answers) == 1
    return not answers.pop()


def wide(name: str) -> str:
    """The same name in letters of full width, as East Asian keyboards write them."""
    return "".join(chr(ord(each) + 0xFEE0) for each in name)


@pytest.mark.parametrize(
    "name",
    [
        "Send-Mail",
        "SEND_MAIL",
        "sendMail",
        wide("send_mail"),
        "s\u00e9nd_mail",
        "se\u0301nd_mail",
        "send\u200b_mail",
        "send_\u2133ail",
        " send mail\t",
        "send.mail",
    ],
)
def test_a_tool_is_denied_however_its_name_is_written(name: str) -> None:
    assert is_denied(name, by="send_mail")
    assert is_denied("send_mail", by=name)


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("send_mail", "send_mails"),
        ("\u67e5\u8be2", "\u53d1\u9001"),
        ("", "a"),
        ("\U0001f525", "\U0001f4a7"),
    ],
)
def test_other_names_are_not_denied(name: str, other: str) -> None:
    settings = CustomFilterSettings(name="b", mode="blacklist", denied=(other,))

    assert Custom(settings=settings).is_allowed(ToolFacts(name=name))


@pytest.mark.parametrize("name", ["", "-", "\u200b", "\U0001f525"])
def test_a_name_without_a_letter_is_denied_by_itself(name: str) -> None:
    settings = CustomFilterSettings(name="b", mode="blacklist", denied=(name,))

    assert not Custom(settings=settings).is_allowed(ToolFacts(name=name))


@pytest.mark.parametrize(
    "name",
    [
        "Bash",
        "KillShell",
        "astrbot_execute_shell",
        "astrbot_execute_python",
        "astrbot_execute_ipython",
        "astrbot_shell_session",
        "astrbot_run_browser_skill",
        "astrbot_cua_keyboard_type",
        "browser_evaluate",
        "code_interpreter",
        "computer",
        "docker.exec",
        "doShell",
        "evalJS",
        "execInPod",
        "interact_with_process",
        "iterm-mcp/write_to_terminal",
        "kubectl_apply",
        "mcp__host__zsh",
        "my sudo",
        "open_powershell",
        "python3",
        "pyREPL",
        "remoteSSHSession",
        "run_code",
        "run-command",
        "sh",
        "rUn_it",
        "sHeLl",
        "start_subprocess",
        "tool.cmd",
        "webconsole",
    ],
)
def test_full_access_refuses_a_tool_whose_name_says_that_it_runs_code(name: str) -> None:
    assert not FULL.is_allowed(ToolFacts(name=name))


@pytest.mark.parametrize("word", [*CODE_STEMS, *sorted(CODE_WORDS)])
def test_every_word_counts_wherever_it_stands(word: str) -> None:
    names = [f"mcp__host__{word}", f"a-{word}-b", f"a.{word}", f"{word} b", f"{word}2"]
    names += [f"do{word.title()}Now", f"{word}Now", f"do{word.upper()}Now"]

    allowed = [
        name
        for name in (word, word.upper(), *names, *map(str.upper, names[:5]))
        if FULL.is_allowed(ToolFacts(name=name))
    ]

    assert allowed == []


@pytest.mark.parametrize("stem", CODE_STEMS)
def test_a_stem_counts_inside_a_word_too(stem: str) -> None:
    assert not FULL.is_allowed(ToolFacts(name=f"my{stem}s"))


@pytest.mark.parametrize(
    "name",
    [
        wide("shell"),
        "s\u200bh_tool",
        "sh\u00e9ll",
        "\u0455h_tool",
        "s\u04bb_tool",
        "\u641c\u7d22",
        "look\u2028",
        "a\0b",
        "look\n",
    ],
)
def test_full_access_refuses_a_tool_whose_name_hides_something_or_cannot_be_read(name: str) -> None:
    assert not FULL.is_allowed(ToolFacts(name=name))


@pytest.mark.parametrize(
    "name",
    [
        "astrbot_file_write_tool",
        "astrbot_grep_tool",
        "cash_flow",
        "describeImage",
        "fetch_transcript",
        "get_description",
        "get_weather",
        "mcp__github__create_issue",
        "prune_notes",
        "recommend_movie",
        "retrieval_search",
        "sendMessage",
        "show_summary",
        "web.search2",
    ],
)
def test_full_access_leaves_harmless_names_alone(name: str) -> None:
    assert FULL.is_allowed(ToolFacts(name=name))
