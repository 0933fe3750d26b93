"""The generated schema and the bundled agents.json."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from orchestrator.agentsfile import load
from orchestrator.agentsfile.json_schema import schema
from orchestrator.home_paths import bundled


def test_schema_file_is_current() -> None:
    """If not, run scripts/schema."""
    assert json.loads((bundled("config") / "agents.schema.json").read_text("utf-8")) == schema()


def test_schema_describes_every_field() -> None:
    """Editors show these texts; inherited fields have theirs, too."""
    made: Any = schema()
    jsonschema.Draft202012Validator.check_schema(made)
    models = [made, *made["$defs"].values()]
    fields = [field for model in models for field in model.get("properties", {}).values()]
    assert [field for field in fields if not field.get("description")] == []


@pytest.mark.parametrize(
    ("agent", "valid"),
    [
        ({"agentId": "a", "model": "m"}, True),
        ({"agentId": "a", "llmProvider": "auto"}, True),
        ({"agentId": "a"}, False),
        ({"agentId": "a", "llmProvider": "groq"}, False),
        ({"agentId": "A", "model": "m"}, False),
        ({"agentId": "a", "model": "m", "maxStep": 1}, False),
    ],
)
def test_schema_judges_agents_as_the_loader_does(agent: dict[str, str], valid: bool) -> None:  # noqa: FBT001 - a column of the table
    """What an editor accepts, the daemon accepts."""
    assert jsonschema.Draft202012Validator(schema()).is_valid({"agents": [agent]}) is valid


def test_bundled_file_is_valid_and_answers_everywhere() -> None:
    """The first run needs no edit."""
    path: Path = bundled("config") / "agents.json"
    loaded = load(path, {})
    assert loaded.problems == ()
    jsonschema.validate(json.loads(path.read_text("utf-8")), schema())
    assert [binding.place for binding in loaded.file.bindings] == ["console:*"]
    assert loaded.file.fallback_agent_id == "assistant"
    assert loaded.file.channels.telegram.access == "pairing"
