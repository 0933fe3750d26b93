"""The generated schema."""

from typing import Any

import jsonschema
import pytest
from agentsschema import build_schema


def test_schema_describes_every_field() -> None:
    """Editors show these texts; inherited fields have theirs, too."""
    made: Any = build_schema()
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
    assert jsonschema.Draft202012Validator(build_schema()).is_valid({"agents": [agent]}) is valid
