"""The files that ship with the program and name what its extensions bring."""

import ast
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from agentsschema import build_schema, collect_brought_names
from fakes.agents_file import WORK, parsed
from fakes.definition_files import library, problems

from orchestrator import installed
from orchestrator.agentsfile import load_agents_file
from orchestrator.agentsfile.missing_extensions import TABLE
from orchestrator.cli import EXAMPLES
from orchestrator.cli.commands import list_commands
from orchestrator.home_paths import find_bundled_path
from orchestrator.journal.memory import playbooks
from orchestrator.tools.host_tools import list_own_tools
from thinker.protocol.log_sentences import SENTENCES
from thinker.protocol.messages import SideEffect

CHECKOUT = Path(__file__).parents[3]
pytestmark = pytest.mark.skipif(
    not installed.list_shipped().keys() <= installed.list_names(), reason="an extension was deleted"
)


def test_table_of_names_is_current() -> None:
    """If not, run scripts/schema."""
    assert json.loads(TABLE.read_bytes()) == collect_brought_names()


def test_schema_file_is_current() -> None:
    """If not, run scripts/schema."""
    assert (
        json.loads((find_bundled_path("config") / "agents.schema.json").read_text("utf-8"))
        == build_schema()
    )


def test_shipped_schema_describes_every_field() -> None:
    """What our extensions bring as well."""
    whole: Any = build_schema()
    fields = [
        field
        for model in (whole, *whole["$defs"].values())
        for field in model.get("properties", {}).values()
    ]
    assert [field for field in fields if not field.get("description")] == []


def test_examples_of_the_first_screen_are_commands() -> None:
    """It leaves out what is not installed."""
    assert {example.split()[1] for example in EXAMPLES} <= list_commands().keys()


def test_bundled_file_is_valid_and_answers_everywhere() -> None:
    """The first run needs no edit."""
    path: Path = find_bundled_path("config") / "agents.json"
    loaded = load_agents_file(path, {})
    assert loaded.problems == ()
    jsonschema.validate(json.loads(path.read_text("utf-8")), build_schema())
    assert [binding.place for binding in loaded.file.bindings] == ["console:*"]
    assert loaded.file.fallback_agent_id == "assistant"
    telegram = loaded.file.channels.list_chat_channels()["telegram"]
    assert telegram.access == "pairing"


def logged() -> Iterator[str]:
    """Every event that the program logs by name."""
    for path in [*(CHECKOUT / "orchestrator").rglob("*.py"), *(CHECKOUT / "thinker").rglob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call):
                for arg in node.args[:2]:
                    if isinstance(arg, ast.Constant) and isinstance(arg.value, str):
                        yield arg.value


def test_every_sentence_belongs_to_an_event_of_the_program() -> None:
    """A renamed event would lose its words."""
    assert SENTENCES.keys() - set(logged()) == set()


def test_bundled_specialist_only_looks_and_names_no_tool_twice(tmp_path: Path) -> None:
    """Of our own tools it has those alone that change nothing."""
    found = library(tmp_path, parsed(WORK).file)
    prompts = found.current_set.definitions
    names = [entry.name for entry in prompts["specialist"].tools or ()]
    tools = list_own_tools()
    assert {tools[name].spec.side_effect for name in names if name in tools} == {SideEffect.PURE}
    looking = {"fetch", "search", "list_dir", "read_file", "search_files"}  # of servers
    assert {*names} - tools.keys() == looking
    executor = {entry.name for entry in prompts["executor"].tools or ()}
    acting = {"write_file", "edit_file", "take_file", "run_command"}
    assert {*names} < executor <= {*tools, *looking, *acting}
    assert problems(found) == []


def test_tools_that_defaults_require_are_built_in() -> None:
    """So that a fresh installation is not full of warnings."""
    required = {tool for item in playbooks.load_default_playbooks() for tool in item.required_tools}
    assert {tool for tool in required if "*" not in tool} <= list_own_tools().keys()
