"""What Tab offers at the prompt."""

import pytest
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document

from orchestrator.extensions.terminal.line_editor import ChatCompleter

COMMANDS = {"pause": "AGENT: stop answering", "help": "list the commands"}
COMPLETER = ChatCompleter(
    lambda: COMMANDS, lambda name: ("home", "work") if name == "pause" else ()
)


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("/", ["/pause", "/help", "/quit"]),
        ("/q", ["/quit"]),
        ("/nothing", []),
        ("/pause ", ["home", "work"]),
        ("/pause w", ["work"]),
        ("/help ", []),
        ("a path /p", []),
        ("/help\n/p", []),
        ("", []),
    ],
)
def test_commands_are_offered_where_a_message_begins_with_one(
    typed: str, offered: list[str]
) -> None:
    """And then what may follow the command."""
    found = COMPLETER.get_completions(Document(typed), CompleteEvent())
    assert [completion.text for completion in found] == offered


def test_completion_replaces_what_was_typed() -> None:
    """With the description of the command beside it."""
    (found,) = COMPLETER.get_completions(Document("/pau"), CompleteEvent())
    assert (found.start_position, found.display_meta_text) == (-4, "AGENT: stop answering")
