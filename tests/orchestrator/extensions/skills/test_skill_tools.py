"""The tools for skills and playbooks: those of files are read, those of the journal changed."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from fakes.journal import store_in
from fakes.memory import HOME, WORK
from fakes.tool_call import tool_context
from pydantic import JsonValue

from orchestrator.extensions.skills import playbook_changes, skill_tools
from orchestrator.journal.memory import playbooks
from orchestrator.journal.memory.playbooks import StoredPlaybook
from orchestrator.tools.builtin.host_tool import JournalTool, ToolContext, ToolFailure
from thinker.protocol.messages import JsonObject
from thinker.toolcalls.schema_validation import check_against_schema

SKILL = "---\nname: {name}\ndescription: From a file.\n---\nDo it like this.\n"
TEA: JsonObject = {
    "name": "tea",
    "description": "Makes tea.",
    "instructions": "1. Boil water.",
    "keywords": ["Tea", "kettle"],
    "required_tools": ["kettle", "cup"],
    "priority": 4,
}


@asynccontextmanager
async def calling(tmp_path: Path, *globs: str) -> AsyncIterator[ToolContext]:
    """A call of an agent with the skill file ``mail``."""
    folder = tmp_path / "skills" / "mail"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(SKILL.format(name="mail"), "utf-8")
    store = store_in(tmp_path)
    try:
        yield replace(tool_context(store, tmp_path / "skills"), skills=globs or ("tea*", "mail"))
    finally:
        store.close()


async def run(tool: JournalTool, context: ToolContext, arguments: JsonObject) -> str:
    """What a tool that changes the journal answers."""
    return await context.store.transact(tool.effect, context, arguments)


async def stored(context: ToolContext, name: str) -> StoredPlaybook | None:
    """What the journal has of this name."""
    return await context.store.transact(playbooks.find_playbook, WORK, name)


async def test_skill_is_stored_read_listed_and_deleted(tmp_path: Path) -> None:
    """Beside those of files; keywords in lower case."""
    async with calling(tmp_path) as context:
        answer = await run(skill_tools.store_skill, context, TEA)
        assert answer == "Stored the skill tea; it is used from the next message on."
        found = await stored(context, "tea")
        assert found is not None
        assert (found.keywords, found.required_tools) == (("tea", "kettle"), ("kettle", "cup"))
        assert (found.source, found.priority, found.enabled) == ("turn t1", 4, True)
        assert await skill_tools.read_skill.run(context, {"name": "tea"}) == "1. Boil water."
        assert await skill_tools.list_skills.run(context, {}) == (
            "- mail (file): From a file.\n- tea (stored): Makes tea.; keywords: tea, kettle"
        )
        assert (
            await run(skill_tools.delete_skill, context, {"name": "tea"})
            == "Deleted the skill tea."
        )
        assert await stored(context, "tea") is None


@pytest.mark.parametrize(
    ("written", "expected"),
    [("Tea, kettle", ("tea", "kettle")), ('["Tea"]', ("tea",)), ("", ()), (["Tea"], ("tea",))],
)
async def test_lists_may_be_one_line_of_text(
    tmp_path: Path, written: JsonValue, expected: tuple[str, ...]
) -> None:
    """As a model's call comes: checked against the schema that it was offered."""
    given: JsonObject = {**TEA, "keywords": written, "required_tools": written, "priority": ""}
    schema = skill_tools.store_skill.spec.parameters
    assert check_against_schema({**given, "priority": 1}, schema) is None
    assert check_against_schema({**TEA, "keywords": [5]}, schema) is not None
    async with calling(tmp_path) as context:
        await run(skill_tools.store_skill, context, given)
        found = await stored(context, "tea")
        assert found is not None
        assert (found.keywords, found.priority) == (expected, 0)
        assert tuple(map(str.lower, found.required_tools)) == expected
        await run(skill_tools.update_skill, context, {"name": "tea", "keywords": ""})
        assert await stored(context, "tea") == found  # a blank changes nothing


async def test_folder_of_a_skill_is_told_to_an_agent_that_can_run_its_scripts(
    tmp_path: Path,
) -> None:
    """Also where the instructions name it as public skills do; a stored skill has none."""
    async with calling(tmp_path) as plain:
        context = replace(plain, command_tool="run_command")
        told = await skill_tools.read_skill.run(context, {"name": "mail"})
        folder = next(d for d in context.skill_directories if (d / "mail").is_dir())
        real = (folder / "mail").resolve()
        assert f"The folder of this skill is {real}" in told
        skill = real / "SKILL.md"
        skill.write_text(
            f"{skill.read_text('utf-8')}\n${{CLAUDE_SKILL_DIR}}/a.py, {{baseDir}}/b.py", "utf-8"
        )
        told = await skill_tools.read_skill.run(context, {"name": "mail"})
        assert f"\n{real}/a.py, {real}/b.py\n" in told
        assert "${CLAUDE_SKILL_DIR}" in await skill_tools.read_skill.run(plain, {"name": "mail"})
        await run(skill_tools.store_skill, context, TEA)
        assert await skill_tools.read_skill.run(context, {"name": "tea"}) == "1. Boil water."


async def test_bundled_files_are_named_and_read_with_file(tmp_path: Path) -> None:
    """A stored skill has none."""
    async with calling(tmp_path) as context:
        references = tmp_path / "skills" / "mail" / "references"
        references.mkdir()
        (references / "rules.md").write_text("Be brief.\n", "utf-8")
        assert await skill_tools.read_skill.run(context, {"name": "mail"}) == (
            "Do it like this.\n\nBundled files (read one with file): references/rules.md"
        )
        wanted: JsonObject = {"name": "mail", "file": "references/rules.md"}
        assert await skill_tools.read_skill.run(context, wanted) == "Be brief.\n"
        with pytest.raises(ToolFailure, match=r"there are: references/rules\.md"):
            await skill_tools.read_skill.run(context, {"name": "mail", "file": "../mail/SKILL.md"})
        await run(skill_tools.store_skill, context, TEA)
        with pytest.raises(ToolFailure, match="'tea' has no bundled files"):
            await skill_tools.read_skill.run(context, {"name": "tea", "file": "rules.md"})


async def test_only_what_is_named_changes(tmp_path: Path) -> None:
    """One that is switched off is not read; switched on again it is as before."""
    async with calling(tmp_path) as context:
        await run(skill_tools.store_skill, context, TEA)
        change: JsonObject = {"name": "tea", "enabled": False, "keywords": None}
        await run(skill_tools.update_skill, context, change)
        with pytest.raises(ToolFailure, match="there are: mail"):
            await skill_tools.read_skill.run(context, {"name": "tea"})
        assert "tea (stored, switched off)" in await skill_tools.list_skills.run(context, {})
        await run(
            skill_tools.update_skill, context, {"name": "tea", "enabled": True, "keywords": []}
        )
        found = await stored(context, "tea")
        assert found is not None
        assert (found.keywords, found.instructions) == ((), "1. Boil water.")


async def test_file_wins_over_a_stored_skill_of_its_name(tmp_path: Path) -> None:
    """And the list says that the other is hidden."""
    async with calling(tmp_path) as context:
        await run(skill_tools.store_skill, context, {**TEA, "name": "mail"})
        assert await skill_tools.read_skill.run(context, {"name": "mail"}) == "Do it like this."
        shown = await skill_tools.list_skills.run(context, {})
        assert "- mail (stored, hidden by the file of this name)" in shown


async def test_defaults_are_read_and_changed_like_any_other(tmp_path: Path) -> None:
    """They are the agent's own once it has had a turn."""
    async with calling(tmp_path, "memory-recall") as context:
        await context.store.transact(playbooks.seed_playbooks, "work", 1)
        text = await skill_tools.read_skill.run(context, {"name": "memory-recall"})
        assert text.startswith("1. ")
        change: JsonObject = {"name": "memory-recall", "instructions": "Mine."}
        await run(skill_tools.update_skill, context, change)
        assert await skill_tools.read_skill.run(context, {"name": "memory-recall"}) == "Mine."


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("name", "Tea Time", "name: "),
        ("name", "../tea", "name: "),
        ("name", "coffee", "setting"),
        ("description", " ", "description: "),
        ("instructions", "x" * 20_001, "instructions: "),
        ("instructions", None, "instructions: "),
        ("keywords", [1], "keywords.0: "),
        ("keywords", ["", "tea"], "keywords.0: "),
        ("keywords", ["k"] * 65, "keywords: "),
        ("priority", 1e9, "priority: "),
        ("required_tools", {"a": 1}, "required_tools: "),
    ],
)
async def test_unusable_field_is_told_and_nothing_is_stored(
    tmp_path: Path, field: str, value: JsonValue, message: str
) -> None:
    """The model can correct it. An empty keyword would match everything."""
    async with calling(tmp_path) as context:
        with pytest.raises(ToolFailure, match=message):
            await run(skill_tools.store_skill, context, {**TEA, field: value})
        assert await stored(context, "tea") is None


async def test_what_is_not_in_the_journal_cannot_be_changed(tmp_path: Path) -> None:
    """Skill files belong to the operator, other agents' skills to them."""
    async with calling(tmp_path) as context:
        await run(skill_tools.store_skill, replace(context, agent_id="home", memory=HOME), TEA)
        for name in ("mail", "tea", ""):
            for tool in (skill_tools.update_skill, skill_tools.delete_skill):
                with pytest.raises(ToolFailure, match="no stored skill"):
                    await run(tool, context, {"name": name})


async def test_taken_name_and_too_much_text_are_refused(tmp_path: Path) -> None:
    """Each with what to do instead."""
    async with calling(tmp_path) as context:
        await run(skill_tools.store_skill, context, TEA)
        with pytest.raises(ToolFailure, match="change it with update_skill"):
            await run(skill_tools.store_skill, context, TEA)
        found = await stored(context, "tea")
        assert found is not None
        large = replace(found, name="tea-2", instructions="x" * (playbook_changes.MAX_BYTES - 500))
        await context.store.transact(playbook_changes.add_playbook, WORK, large, 1)
        with pytest.raises(ToolFailure, match="delete or shorten one first"):
            await run(
                skill_tools.update_skill, context, {"name": "tea", "instructions": "x" * 1000}
            )
        assert await stored(context, "tea") == found


async def test_skill_is_read_whole_when_the_agent_may_use_it(
    tmp_path: Path, context: ToolContext
) -> None:
    """One that its globs leave out does not exist for it; the failure lists the others."""
    for name in ("mail", "news"):
        folder = tmp_path / "skills" / name
        folder.mkdir(parents=True)
        (folder / "SKILL.md").write_text(SKILL.format(name=name), "utf-8")
    assert await skill_tools.read_skill.run(context, {"name": "mail"}) == "Do it like this."
    some = replace(context, skills=("n*",))
    for wanted in ("mail", "../mail", "", None):
        with pytest.raises(ToolFailure, match="there are: news"):
            await skill_tools.read_skill.run(some, {"name": wanted})
    with pytest.raises(ToolFailure, match="there are: none"):
        await skill_tools.read_skill.run(replace(context, skills=()), {"name": "mail"})
