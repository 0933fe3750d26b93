"""What tools do, by their names, descriptions and arguments."""

import pytest

from orchestrator.extensions.receipts.judging.tool_effects import UNKNOWN, find_tool_effects


@pytest.mark.parametrize(
    ("tool", "description", "effects"),
    [
        ("send_message", "", {"send"}),
        ("list_tasks", "", set()),
        ("calendar_create_event", "Create an event.", {"schedule"}),
        ("delete_file", "", {"delete"}),
        ("getWeather", "Get the weather.", set()),
        ("weather", "", set()),
        ("opentable", "Reserve a table at a restaurant.", {"schedule", "book", "pay"}),
        ("slack_list_channels", "", set()),
        ("call_service", "Call a service of the house.", UNKNOWN),
        ("frobnicate", "", UNKNOWN),
    ],
)
def test_effects_follow_names_and_descriptions(
    tool: str, description: str, effects: set[str]
) -> None:
    """Reading has none; an unknown word may have any."""
    assert find_tool_effects(tool, description, "{}") == effects


def test_name_in_another_language_tells_the_effect() -> None:
    """By the verbs of the answers' languages."""
    assert "send" in find_tool_effects("enviar_correo", "", "{}")


def test_action_among_the_arguments_decides() -> None:
    """For tools that do several things."""
    assert find_tool_effects("mail", "", '{"action": "list"}') == frozenset()
    assert "send" in find_tool_effects("mail", "", '{"action": "send"}')


@pytest.mark.parametrize(
    ("command", "harmless"),
    [("ls -la", True), ("cat a | grep b", True), ("cat a > b", False), ("curl -X POST", False)],
)
def test_command_counts_unless_all_of_it_reads(command: str, harmless: bool) -> None:  # noqa: FBT001 - of a table
    """By the first word of each part."""
    found = find_tool_effects("run_command", "", f'{{"command": "{command}"}}')
    assert found == (frozenset() if harmless else UNKNOWN)
