"""`orchestrator help`: the manual in the terminal."""

from pathlib import Path

import pytest
from fakes.control_server import command

from orchestrator.cli.help import MANUAL, first_sentence
from orchestrator.home_paths import bundled

TOPICS = sorted(path.stem for path in (bundled("skills") / MANUAL).glob("*.md"))


def test_without_a_topic_all_topics_are_listed_with_their_first_sentence(tmp_path: Path) -> None:
    """Each in a line of its own."""
    shown = command(tmp_path, "help")
    assert shown.exit_code == 0
    lines = shown.stdout.splitlines()[1:]
    assert [line.split()[0] for line in lines[: len(TOPICS)]] == TOPICS
    assert [line for line in lines[: len(TOPICS)] if not line.endswith((".", ":"))] == []


@pytest.mark.parametrize("topic", TOPICS)
def test_page_is_printed_as_it_is_in_the_skill(topic: str, tmp_path: Path) -> None:
    """Plain text, also to a pipe."""
    shown = command(tmp_path, "help", topic)
    page = bundled("skills") / MANUAL / f"{topic}.md"
    assert (shown.exit_code, shown.stdout) == (0, page.read_text("utf-8"))


def test_name_of_a_command_prints_the_help_of_that_command(tmp_path: Path) -> None:
    """Unless a page has the name."""
    shown = command(tmp_path, "help", "trace")
    assert shown.exit_code == 0
    assert shown.stdout.startswith("Usage: orchestrator trace ")


@pytest.mark.parametrize(
    ("topic", "hint"),
    [
        ("comands", "did you mean 'commands'?"),
        ("../SKILL", "orchestrator help lists the topics"),
        ("", "orchestrator help lists the topics"),
    ],
)
def test_unknown_topic_ends_with_the_nearest_one_and_2(
    topic: str, hint: str, tmp_path: Path
) -> None:
    """Only pages of the manual are printed."""
    refused = command(tmp_path, "help", topic)
    assert refused.exit_code == 2
    assert f"no topic {topic!r}; {hint}" in " ".join(refused.stderr.split())


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("# Journal\n\nHow it\nworks. And more.\n", "How it works."),
        ("<!-- made by a script -->\n\n# A\n\nOne line", "One line"),
        ("# A\n", ""),
    ],
)
def test_first_sentence_of_a_page_is_that_of_its_first_paragraph(text: str, sentence: str) -> None:
    """Headings and comments are passed over."""
    assert first_sentence(text) == sentence


def test_word_of_one_heading_prints_that_section_with_its_page(tmp_path: Path) -> None:
    """In large or small letters; the next section is left out."""
    shown = command(tmp_path, "help", "Upgrade")
    assert shown.exit_code == 0
    assert shown.stdout.startswith("From the page 'operating':\n\n## Upgrade\n")
    assert shown.stdout.count("\n## ") == 1


def test_word_of_several_headings_lists_their_pages(tmp_path: Path) -> None:
    """Each with the command that prints it."""
    shown = command(tmp_path, "help", "jail")
    assert shown.exit_code == 0
    assert "  orchestrator help security: The broker's jail\n" in shown.stdout
    assert "  orchestrator help tools: The jail of a server\n" in shown.stdout
