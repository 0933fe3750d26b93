"""Questions at a terminal, and what stands in for them elsewhere."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import typer
from prompt_toolkit.application import create_app_session
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

from orchestrator.extensions.setup.questions import Questions

NAMES = {"groq": "GROQ_API_KEY is set", "demo": ""}


@contextmanager
def typed(*lines: str) -> Iterator[Questions]:
    """A terminal at which these lines are typed."""
    with create_pipe_input() as pipe, create_app_session(input=pipe, output=DummyOutput()):
        pipe.send_text("".join(f"{line}\r" for line in lines))
        yield Questions()


def test_line_is_returned_and_an_empty_one_takes_what_is_offered() -> None:
    """Blanks around it do not count."""
    with typed(" mine ", "", "") as ask:
        assert ask.ask_text("Model", "--model", "usual") == "mine"
        assert ask.ask_text("Model", "--model", "usual", ("usual", "other")) == "usual"
        assert ask.ask_secret("Key", "--key-from") == ""


def test_choice_is_a_number_or_a_name() -> None:
    """Another name is the caller's to judge."""
    with typed("2", "groq", "3", "") as ask:
        found = [ask.ask_choice("Provider", "--provider", NAMES, "demo") for _ in range(4)]
    assert found == ["demo", "groq", "3", "demo"]


def test_consent_is_yes_or_no_and_anything_else_is_asked_again() -> None:
    """Enter takes what is offered; a slip of the finger is neither."""
    with typed("YES", "no", "", "11", "maybe", "nope", "y", "N") as ask:
        assert [ask.ask_yes_no("Write?") for _ in range(5)] == [True, False, True, True, False]


def test_option_is_named_where_there_is_no_terminal() -> None:
    """Unless what is offered shall be taken."""
    silent, taking = Questions(terminal=False), Questions(defaults=True, terminal=False)
    with pytest.raises(typer.BadParameter, match="--provider"):
        silent.ask_choice("Provider", "--provider", NAMES, "demo")
    with pytest.raises(typer.BadParameter, match="--key-from"):
        silent.ask_secret("Key", "--key-from")
    with pytest.raises(typer.BadParameter, match="--model"):
        silent.ask_text("Model", "--model")
    with pytest.raises(typer.BadParameter, match="--yes"):
        silent.ask_permission("Write?")
    assert taking.ask_choice("Provider", "--provider", NAMES, "demo") == "demo"
    assert taking.ask_secret("Key", "--key-from") == ""
    assert taking.ask_permission("Write?")
