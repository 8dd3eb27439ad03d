"""Which tools a child is offered: what was asked for, as far as the asker may use it."""

import importlib
from typing import Any

import pytest

from astrbot_plugin_subagents.manager.host import ToolScope
from astrbot_plugin_subagents.manager.models import Origin, Turn
from astrbot_plugin_subagents.manager.tool_filter import ReadOnly
from support.child_stage import TOOLS, ChildStage, handle_of

pytestmark = [pytest.mark.host, pytest.mark.asyncio(loop_scope="session")]

PLUGIN_TOOLS = ("admin_only", "decorated", "draw", "meddle", "quiet", "search", "tell")
FILE_TOOLS = (
    "astrbot_file_edit_tool",
    "astrbot_file_read_tool",
    "astrbot_file_write_tool",
    "astrbot_grep_tool",
)
LOCAL_TOOLS = tuple(sorted((*FILE_TOOLS, "astrbot_execute_python", "astrbot_execute_shell")))
LOCAL = {"provider_settings": {"computer_use_runtime": "local"}}


class Tools:
    """Resolves scopes."""

    def __init__(self, stage: ChildStage) -> None:
        module = importlib.import_module("astrbot_plugin_subagents.plugin.child_tools")
        self.child_tools = module.ChildTools(stage.bot.context)
        self._stage = stage

    def __call__(self, *assigned: str, turn: Turn | None = None, **scope: Any) -> tuple[str, ...]:
        """Names of the tools of a child."""
        names: tuple[str, ...] = self.resolve(*assigned, turn=turn, **scope).names
        return names

    def resolve(self, *assigned: str, turn: Turn | None = None, **scope: Any) -> Any:
        """The tools themselves."""
        origin = scope.pop("origin", Origin(sender_id="alice"))
        tools = ToolScope(**{"assigned": assigned, **scope})
        request = self._stage.request(tools=tools, turn=turn, origin=origin)
        return self.child_tools.resolve(request)


@pytest.fixture
def tools(stage: ChildStage) -> Tools:
    """Resolve scopes for children of the test's chat."""
    return Tools(stage)


@pytest.mark.parametrize("with_turn", [True, False])
async def test_a_child_gets_what_is_assigned_and_inherent_in_a_stable_order(
    stage: ChildStage, tools: Tools, with_turn: bool
) -> None:
    scope = {"inherent": ("tell", "not_here"), "denied": frozenset({"draw"})}

    async with stage.turn() as turn:
        names = tools("search", "draw", "quiet", turn=turn if with_turn else None, **scope)

    assert names == ("quiet", "search", "tell")


async def test_deny_wins_over_inherent_tools_and_over_all(tools: Tools) -> None:
    denied = frozenset({"search", "tell"})

    assert tools(inherent=("search",), denied=denied) == ()
    assert tools("*", "tell", denied=denied) == tuple(
        name for name in PLUGIN_TOOLS if name not in denied
    )


async def test_a_tool_that_is_not_there_is_left_out_and_logged_only_when_assigned(
    tools: Tools, caplog: pytest.LogCaptureFixture
) -> None:
    assert tools("search", "gone", inherent=("absent",)) == ("search",)

    assert "gone" in caplog.text
    assert "absent" not in caplog.text


async def test_all_means_no_hand_offs_none_of_ours_and_nothing_that_speaks_for_the_bot(
    stage: ChildStage, tools: Tools
) -> None:
    await stage.bot.configure(extra=LOCAL)
    async with stage.turn() as turn:
        main = handle_of(turn).main_tools
        names_of_main = set(main.names())
        main.add_tool(_hand_off("core_agent"))
        for name in ("create_subagent", "transfer_to_scout"):
            main.add_tool(_tool(name))
        everything = tools("*", turn=turn)
        by_name = tools("*", "future_task", "transfer_to_core_agent", turn=turn)

    assert {"future_task", "send_message_to_user"} <= names_of_main
    assert everything == tuple(sorted((*PLUGIN_TOOLS, *LOCAL_TOOLS)))
    assert by_name == tuple(sorted((*everything, "future_task", "transfer_to_core_agent")))


async def test_a_shell_session_is_given_by_name_only(stage: ChildStage, tools: Tools) -> None:
    await stage.bot.configure(extra=LOCAL)
    async with stage.turn() as turn:
        main = handle_of(turn).main_tools
        if main.get_tool("astrbot_shell_session") is None:
            main.add_tool(_tool("astrbot_shell_session"))  # 4.26 has none

        assert "astrbot_shell_session" not in tools("*", turn=turn)
        assert tools("astrbot_shell_session", turn=turn) == ("astrbot_shell_session",)


async def test_the_computer_tools_are_those_of_the_runtime(stage: ChildStage, tools: Tools) -> None:
    wanted = ("astrbot_execute_shell", "astrbot_execute_python")
    assert tools(inherent=wanted) == ()

    await stage.bot.configure(extra=LOCAL)

    assert tools(inherent=wanted) == ("astrbot_execute_python", "astrbot_execute_shell")
    assert tools("*") == tuple(sorted((*PLUGIN_TOOLS, *LOCAL_TOOLS)))
    shell = tools.resolve(inherent=wanted).tool_set.get_tool("astrbot_execute_shell")
    async with stage.turn() as turn:
        main = handle_of(turn).main_tools
        assert type(shell) is type(main.get_tool("astrbot_execute_shell"))


async def test_none_is_all_as_the_host_gives_its_own_agents(
    stage: ChildStage, tools: Tools
) -> None:
    async with stage.turn() as turn:
        main = handle_of(turn).main_tools
        main.remove_tool("draw")

        assert tools(assigned=None, turn=turn) == PLUGIN_TOOLS
        assert "draw" not in tools("*", turn=turn)


@pytest.mark.parametrize("with_turn", [True, False])
async def test_a_static_agent_gets_named_tools_that_the_main_agent_has_not_got(
    stage: ChildStage, tools: Tools, with_turn: bool
) -> None:
    personas = stage.bot.context.persona_manager
    await personas.create_persona("narrow", "You are narrow.", tools=["search"])
    origin = Origin(sender_id="alice", persona_id="narrow", tools=("search",))
    async with stage.turn() as turn:
        handle_of(turn).main_tools.remove_tool("draw")
        scope: dict[str, Any] = {"origin": origin, "turn": turn if with_turn else None}
        named = tools("draw", "search", "gone", "future_task", **scope, beyond_turn=True)
        plain = tools("draw", "search", **scope)
        with_all = tools("*", "draw", **scope, beyond_turn=True)
        only_all = tools("*", **scope, beyond_turn=True)
        denied = tools("draw", **scope, beyond_turn=True, denied=frozenset({"draw"}))
    await personas.delete_persona("narrow")

    assert set(named) - {"future_task"} == {"draw", "search"}
    assert plain == ("search",)
    assert "draw" in with_all
    assert "draw" not in only_all
    assert denied == ()


async def test_a_named_tool_that_the_main_agent_has_not_got_comes_behind_the_guard(
    stage: ChildStage, tools: Tools
) -> None:
    async with stage.turn() as turn:
        handle_of(turn).main_tools.remove_tool("admin_only")
        resolved = tools.resolve("admin_only", turn=turn, beyond_turn=True)

    tool = resolved.tool_set.get_tool("admin_only")
    registered = stage.bot.context.get_llm_tool_manager().get_func("admin_only")
    assert tool is not registered
    assert tool._wrapped is registered


async def test_a_static_agent_gets_computer_tools_of_the_configured_runtime_only(
    stage: ChildStage, tools: Tools
) -> None:
    shell = "astrbot_execute_shell"
    assert tools(shell, beyond_turn=True) == ()

    await stage.bot.configure(extra=LOCAL)
    async with stage.turn() as turn:
        main = handle_of(turn).main_tools
        of_main = main.get_tool(shell)
        main.remove_tool(shell)
        resolved = tools.resolve(shell, turn=turn, beyond_turn=True)

    assert resolved.names == (shell,)
    assert type(resolved.tool_set.get_tool(shell)) is type(of_main)


async def test_a_profile_limits_what_a_static_agent_gets_by_name(
    stage: ChildStage, tools: Tools
) -> None:
    await stage.bot.configure(extra={"plugin_set": ["test_ready"]})

    assert tools("decorated", beyond_turn=True) == ()


async def test_a_main_agent_without_tools_has_none_to_give(stage: ChildStage, tools: Tools) -> None:
    async with stage.turn() as turn:
        handle_of(turn).main_tools = None

        assert tools("*", turn=turn) == tools("search", turn=turn) == ()


async def test_a_tool_that_is_switched_off_is_left_out(stage: ChildStage, tools: Tools) -> None:
    registered = stage.bot.context.get_llm_tool_manager().get_func("draw")
    async with stage.turn() as turn:
        registered.active = False
        with_turn, without = tools("*", turn=turn), tools("*")
        registered.active = True

    assert "draw" not in with_turn
    assert "draw" not in without
    assert "draw" in tools("*")


async def test_a_tool_of_a_plugin_that_went_is_left_out_of_a_turn_that_still_has_it(
    stage: ChildStage, tools: Tools
) -> None:
    await stage.bot.plugins.add(
        "test_more",
        TOOLS.replace('"search"', '"look"')
        .replace("self, name)) for name in names)", 'self, "search")) for name in ("look",))')
        .replace("decorated", "decorated_too"),
    )
    async with stage.turn() as turn:
        before = tools("look", turn=turn)
        await stage.bot.plugins.uninstall("test_more")
        after = tools("look", turn=turn)

    assert (before, after) == (("look",), ())


async def test_each_run_has_a_guard_of_its_own_around_the_tool_as_it_is_now(
    stage: ChildStage, tools: Tools
) -> None:
    first = tools.resolve("search").tool_set.get_tool("search")
    again = tools.resolve("search").tool_set.get_tool("search")
    await stage.bot.plugins.reload("test_tools")
    reloaded = tools.resolve("search").tool_set.get_tool("search")

    # AstrBot is imported with it, so not before the fixtures have booted one
    wrapped_tool = importlib.import_module(
        "astrbot_plugin_subagents.plugin.host_tools"
    ).wrapped_tool
    assert first is not again
    assert wrapped_tool(first) is wrapped_tool(again)
    assert wrapped_tool(reloaded) is not wrapped_tool(first)


async def test_after_a_restart_the_persona_still_limits_the_plugins_tools(
    stage: ChildStage, tools: Tools
) -> None:
    personas = stage.bot.context.persona_manager
    await personas.create_persona("narrow", "You are narrow.", tools=["search"])
    origin = Origin(sender_id="alice", persona_id="narrow")

    names = tools("*", origin=origin), tools("draw", origin=origin)
    await personas.delete_persona("narrow")

    assert names == (("search",), ())


async def test_after_a_restart_the_profile_still_limits_the_plugins(
    stage: ChildStage, tools: Tools
) -> None:
    await stage.bot.configure(extra={"plugin_set": ["test_ready"]})

    # AstrBot cannot tell whose a tool is that a plugin adds as an object, and leaves it in.
    assert "decorated" not in tools("*")


async def test_only_astrbots_own_reading_tools_count_as_reading(
    stage: ChildStage, tools: Tools
) -> None:
    await stage.bot.configure(extra=LOCAL)
    assert tools.resolve("*").read_only == {"astrbot_file_read_tool", "astrbot_grep_tool"}

    source = (
        TOOLS.replace('"search"', '"astr_kb_search"')
        .replace(
            "self, name)) for name in names)", 'self, "search")) for name in ("astr_kb_search",))'
        )
        .replace("decorated", "decorated_too")
    )
    await stage.bot.plugins.add("test_more", source)
    resolved = tools.resolve("astr_kb_search")
    await stage.bot.plugins.uninstall("test_more")

    assert (resolved.names, resolved.read_only) == (("astr_kb_search",), frozenset())


async def test_what_the_filter_readonly_lets_through_counts_as_reading(tools: Tools) -> None:
    only_reads = ReadOnly(extra=frozenset({"search"}))

    assert tools.resolve("search", "tell", filter=only_reads).read_only == {"search"}


async def test_the_catalog_knows_what_the_asker_may_name(stage: ChildStage) -> None:
    async with stage.turn() as turn:
        main = handle_of(turn).main_tools
        main.add_tool(_hand_off("core_agent"))
        main.remove_tool("draw")
        names = stage.catalog.tool_names(turn)

    assert {"search", "future_task", "transfer_to_core_agent"} <= names
    assert "draw" not in names
    assert {"search", "draw"} <= stage.catalog.tool_names(None)


def _tool(name: str) -> Any:
    api = importlib.import_module("astrbot.api")
    return api.FunctionTool(name=name, description="", parameters={"type": "object"})


def _hand_off(name: str) -> Any:
    agents = importlib.import_module("astrbot.core.agent.agent")
    handoff = importlib.import_module("astrbot.core.agent.handoff")
    return handoff.HandoffTool(agent=agents.Agent(name=name, instructions="", tools=[]))
