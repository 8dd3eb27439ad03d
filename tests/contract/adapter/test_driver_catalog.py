"""What the catalog says exists in AstrBot."""

import importlib
from datetime import datetime
from pathlib import Path

import pytest

from astrbot_plugin_subagents.manager.models import OwnerId, Persona, SessionId
from support.astrbot_root import ADMIN, PROVIDER_ID
from support.child_stage import ChildStage

SKILLED = """
from astrbot.api.star import Star

class Plugin(Star):
    pass
"""

pytestmark = [pytest.mark.host, pytest.mark.asyncio(loop_scope="session")]


@pytest.fixture
def skill(stage: ChildStage) -> str:
    """Install a skill."""
    skills = importlib.import_module("astrbot.core.skills.skill_manager")
    folder = Path(skills.SkillManager().skills_root) / "tidy"
    folder.mkdir(parents=True, exist_ok=True)
    text = "---\nname: tidy\ndescription: How to tidy up.\n---\nTidy up.\n"
    folder.joinpath("SKILL.md").write_text(text, encoding="utf-8")
    return "tidy"


async def test_it_knows_the_chat_models(stage: ChildStage) -> None:
    assert stage.catalog.provider_ids() == {PROVIDER_ID}


@pytest.mark.parametrize(
    ("owner", "is_admin"), [(ADMIN, True), ("12345", True), ("alice", False), ("", False)]
)
async def test_it_knows_the_admins(stage: ChildStage, owner: str, is_admin: bool) -> None:
    await stage.bot.configure(extra={"admins_id": [ADMIN, 12345]})

    assert stage.catalog.is_admin(stage.session, OwnerId(owner)) is is_admin


async def test_it_knows_the_active_skills_and_how_to_use_them(
    stage: ChildStage, skill: str
) -> None:
    catalog, session = stage.catalog, stage.session

    assert skill in catalog.skill_names(None)
    assert "How to tidy up." in catalog.skills_prompt(session, (skill,))
    assert "How to tidy up." in catalog.skills_prompt(session, None)
    assert catalog.skills_prompt(session, ()) == ""
    assert catalog.skills_prompt(session, ("unknown",)) == ""


async def test_a_plugins_skill_is_there_while_its_plugin_is_and_the_profile_has_it(
    stage: ChildStage,
) -> None:
    bot, catalog = stage.bot, stage.catalog
    text = "---\nname: cook\ndescription: How to cook.\n---\nCook.\n"
    await bot.plugins.add("test_skilled", SKILLED)
    folder = bot.root.plugins / "test_skilled" / "skills" / "cook"
    folder.mkdir(parents=True)
    folder.joinpath("SKILL.md").write_text(text, encoding="utf-8")

    offered = "cook" in catalog.skill_names(None)
    await bot.configure(extra={"plugin_set": ["test_ready"]})
    beyond_profile = catalog.skill_names(None), catalog.skills_prompt(stage.session, ("cook",))
    await bot.configure(extra={"plugin_set": ["test_skilled"]})
    in_profile = catalog.skills_prompt(stage.session, None)
    await bot.plugins.disable("test_skilled")
    switched_off = catalog.skills_prompt(stage.session, ("cook",))
    await bot.plugins.enable("test_skilled")
    await bot.plugins.uninstall("test_skilled")

    assert offered
    assert "cook" not in beyond_profile[0]
    assert beyond_profile[1] == ""
    assert "How to cook." in in_profile
    assert switched_off == ""


@pytest.mark.parametrize(("name", "hours"), [("Asia/Shanghai", 8), ("UTC", 0)])
async def test_it_knows_the_time_zone(stage: ChildStage, name: str, hours: int) -> None:
    await stage.bot.configure(extra={"timezone": name})

    zone = stage.catalog.time_zone(SessionId("any"))

    offset = datetime(2030, 1, 1, tzinfo=zone).utcoffset()
    assert offset is not None
    assert offset.total_seconds() == hours * 3600


@pytest.mark.parametrize("name", ["", "Nowhere/Never", None])
async def test_a_time_zone_that_is_none_gives_way_to_the_computers(
    stage: ChildStage, name: str | None
) -> None:
    await stage.bot.configure(extra={"timezone": name})

    assert stage.catalog.time_zone(stage.session) is not None


async def test_it_knows_a_persona_as_it_is_now(stage: ChildStage) -> None:
    personas = stage.bot.context.persona_manager
    await personas.create_persona("bard", " Sing. ", ["Hi", "Hey"], tools=["lute"], skills=[])
    before = stage.catalog.persona(stage.session, "bard")
    await personas.update_persona("bard", "Hum.", [], tools=None, skills=["rhyme"])
    after = stage.catalog.persona(stage.session, "bard")
    await personas.delete_persona("bard")

    assert before == Persona(
        instructions="Sing.",
        dialogue=({"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hey"}),
        tools=("lute",),
        skills=(),
    )
    assert after == Persona(instructions="Hum.", tools=None, skills=("rhyme",))
    assert stage.catalog.persona(stage.session, "bard") is None


@pytest.mark.parametrize("name", ["", "nobody", "[%None]"])
async def test_a_persona_that_is_not_there_is_none(stage: ChildStage, name: str) -> None:
    assert stage.catalog.persona(stage.session, name) is None


async def test_the_built_in_persona_is_there(stage: ChildStage) -> None:
    persona = stage.catalog.persona(stage.session, "default")

    assert persona is not None
    assert persona.instructions == "You are a helpful and friendly assistant."
    assert (persona.tools, persona.skills) == (None, None)
