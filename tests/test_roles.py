"""The bundled prompts: coordinator, planner, executor, specialist, and the default."""

from pathlib import Path

import pytest

from orchestrator.tools.host_tools import list_own_tools
from thinker.formats.prompts.definition_files import scan_definitions
from thinker.formats.prompts.registry import Registry
from thinker.formats.prompts.sources import LayeredSource
from thinker.prompt.render.layouts import render_markdown
from thinker.prompt.render.lower import lower_definition

FOLDER = Path(__file__).parent.parent / "prompts"
SERVED = {  # by servers of extensions
    "fetch",
    "search",
    "read_file",
    "write_file",
    "edit_file",
    "take_file",
    "list_dir",
    "search_files",
    "run_command",
}
TOOLS = frozenset(SERVED.union(list_own_tools()))
ROLES = ("coordinator", "planner", "executor", "specialist")


@pytest.mark.parametrize("role", ROLES)
def test_role_is_a_valid_layered_definition(role: str) -> None:
    """It names bundled prompts and tools alone."""
    files, _ = scan_definitions((FOLDER,))
    definition = files[role].definition
    assert definition is not None
    sources = {name: file.definition.prompt for name, file in files.items() if file.definition}
    assert Registry(prompts=sources, tools=TOOLS).check_definition(definition) == ()
    assert isinstance(definition.prompt, LayeredSource)
    assert render_markdown(lower_definition(sources, role)).startswith("# Identity\n")


def test_coordinator_has_the_other_three_as_tools() -> None:
    """Each gets the argument that it requires."""
    files, _ = scan_definitions((FOLDER,))
    coordinator = files["coordinator"].definition
    assert coordinator is not None
    for entry in coordinator.tools or ():
        called = files[entry.name].definition
        assert called is not None
        assert called.required_schema is not None
        assert called.required_schema["required"] == [entry.init_user_message_property]
    assert [entry.name for entry in coordinator.tools or ()] == [*ROLES[1:]]


def test_default_prompt_covers_what_the_seed_lists() -> None:
    """Memory and learning, mail, calendar and search, discover then act, act first, answers."""
    text = (FOLDER / "default-system-prompt.md").read_text("utf-8")
    titles = [line.removeprefix("## ") for line in text.splitlines() if line.startswith("## ")]
    named = ["Tools", "Mail, calendar and search", "Memory", "Skills and workflows", "Time"]
    assert titles == ["How you work", *named, "Answers"]
    assert "- Act first." in text
    assert "- Discover, then act:" in text
    assert "store lasting facts as you hear them" in text
