"""The fields of a form, from the schema to what a person sees."""

from pydantic import JsonValue

from orchestrator.extensions.page.edit_forms import agents_schema
from orchestrator.extensions.page.edit_forms.agents_schema import PartPath
from orchestrator.extensions.page.edit_forms.form_fields import FormField, list_form_fields

ROOT = agents_schema.load_schema()


def fields_of(path: PartPath, present: JsonValue = None) -> dict[str, FormField]:
    """The fields of a part, by their keys."""
    part = agents_schema.find_part_schema(ROOT, path)
    assert part is not None
    return {".".join(one.path): one for one in list_form_fields(ROOT, part, present)}


def test_frequent_fields_come_first_in_plain_words() -> None:
    """Name, model and budget before the fifty that few people need."""
    found = list(fields_of(("agents", 0)).values())
    assert [one.label for one in found[:4]] == ["Name", "What it is for", "Provider", "Model"]
    assert found[0].required
    assert "Dollars a day at most" in [one.label for one in found if one.frequent]
    assert "Timezone" in [one.label for one in found if not one.frequent]


def test_each_value_has_a_control_of_its_kind() -> None:
    """Choices are lists, yes and no are switches, words stand one on a line."""
    agent, server = fields_of(("agents", 0)), fields_of(("mcpServers", "wiki"))
    assert agent["llmProvider"].kind == "choice"
    assert agent["llmProvider"].open
    assert agent["asTool"].kind == "choice"
    assert not agent["asTool"].open
    assert agent["enabled"].kind == "switch"
    assert agent["maxSteps"].kind == "number"
    assert agent["allowedTools"].kind == "words"
    assert agent["systemPrompt"].kind == "text"
    assert server["env"].kind == "pairs"
    assert fields_of(("channels", "telegram"))["accounts"].kind == "parts"


def test_the_present_value_decides_between_kinds() -> None:
    """A folder with rules of its own has its fields; where it is only on, it is a switch."""
    assert fields_of(("agents", 0), {"workspace": True})["workspace"].kind == "switch"
    assert "workspace.network" in fields_of(("agents", 0), {"workspace": {"network": True}})
    assert fields_of(("mcpServers", "a"), {"sandbox": "off"})["sandbox"].kind == "choice"
    listed = fields_of(("mcpServers", "a"), {"sandbox": {"network": ["a.example:443"]}})
    assert listed["sandbox.network"].kind == "json"


def test_value_of_several_lines_has_a_control_for_them() -> None:
    """One for a line would join them, and the next look would call that a change."""
    assert fields_of(("agents", 0), {"description": "one"})["description"].kind == "line"
    assert fields_of(("agents", 0), {"description": "one\ntwo"})["description"].kind == "text"


def test_keys_become_words() -> None:
    """Camel case is for machines."""
    assert fields_of(("agents", 0))["budget.usdPerHour"].label == "Budget: US dollars per hour"
