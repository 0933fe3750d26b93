"""`orchestrator help`: the manual in the terminal."""

from pathlib import Path

import pytest
from fakes.control_server import command

from orchestrator import manual
from orchestrator.extension import Extension
from orchestrator.extensions.manual.commands.help import extract_first_sentence
from orchestrator.home_paths import find_bundled_path
from orchestrator.installed import find_installed
from orchestrator.manual import MANUAL

TOPICS = sorted(path.stem for path in (find_bundled_path("skills") / MANUAL).glob("*.md"))


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
    page = find_bundled_path("skills") / MANUAL / f"{topic}.md"
    assert (shown.exit_code, shown.stdout) == (0, page.read_text("utf-8"))


def test_name_of_a_command_prints_the_help_of_that_command(tmp_path: Path) -> None:
    """Unless a page has the name."""
    shown = command(tmp_path, "help", "status")
    assert shown.exit_code == 0
    assert shown.stdout.startswith("Usage: orchestrator status ")


@pytest.mark.parametrize(
    ("topic", "hint"),
    [
        ("comands", "did you mean 'commands'?"),
        ("../zxqv", "orchestrator help lists the topics"),
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
    assert extract_first_sentence(text) == sentence


def test_word_of_one_heading_prints_that_section_with_its_page(tmp_path: Path) -> None:
    """In large or small letters; the next section is left out."""
    shown = command(tmp_path, "help", "Upgrade")
    assert shown.exit_code == 0
    assert shown.stdout.startswith("From the page 'operating':\n\n## Upgrade\n")
    assert shown.stdout.count("\n## ") == 1


def test_any_words_are_searched_for_in_all_pages(tmp_path: Path) -> None:
    """Each hit has the command that prints its page, and the passage."""
    shown = command(tmp_path, "help", "broker's", "jail")
    assert shown.exit_code == 0
    lines = shown.stdout.splitlines()
    assert lines[0] == 'Sections about "broker\'s jail":'
    place = lines.index("  orchestrator help security: The broker's jail")
    assert "jail" in lines[place + 1]
    assert lines[-1].startswith("orchestrator help PAGE prints a page")


def test_heading_of_several_words_prints_its_section(tmp_path: Path) -> None:
    """As a search shows it, quoted or not."""
    for words in (
        ["The jail of a server"],
        ["the", "jail", "of", "a", "server"],
        ["tools:", "The", "jail", "of", "a", "server"],
    ):
        shown = command(tmp_path, "help", *words)
        assert shown.stdout.startswith("From the page 'tools':\n\n## The jail of a server\n")


def test_settings_and_options_are_found(tmp_path: Path) -> None:
    """They stand in pages of their own."""
    assert "orchestrator help agents-json: Budget" in command(tmp_path, "help", "usdPerDay").stdout
    assert "orchestrator help commands: orchestrator logs" in (
        command(tmp_path, "help", "follow", "log", "lines", "level").stdout
    )


class Pigeon(Extension):
    """An extension with a page of its own, and one that has the name of ours."""

    name = "pigeon"

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def list_manual_pages(self) -> list[Path]:
        return [self.folder / "pigeons.md", self.folder / "skills.md"]


def test_pages_of_extensions_are_beside_ours_and_replace_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are listed, printed and searched like all."""
    (tmp_path / "pigeons.md").write_text("# Pigeons\n\nHow they fly.\n\n## Cooing\n\nOften.\n")
    (tmp_path / "skills.md").write_text("# Skills\n\nMine.\n")
    changed = find_installed()._replace(foreign={"pigeon": Pigeon(tmp_path)})
    monkeypatch.setattr(manual, "find_installed", lambda: changed)
    lines = command(tmp_path, "help").stdout.splitlines()
    assert "pigeons" in [line.split()[0] for line in lines if line]
    assert command(tmp_path, "help", "pigeons").stdout.startswith("# Pigeons\n")
    assert command(tmp_path, "help", "cooing").stdout.startswith("From the page 'pigeons':")
    assert "Mine." not in command(tmp_path, "help", "skills").stdout


class Wordless(Extension):
    """An extension whose pages are no paths."""

    name = "wordless"

    def list_manual_pages(self) -> list[Path]:
        return "wordless.md"  # type: ignore[return-value]  # as a stranger might write it


def test_extension_with_unreadable_pages_costs_its_pages_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is named, and all other pages are there."""
    (tmp_path / "pigeons.md").write_text("# Pigeons\n\nHow they fly.\n")
    foreign = {"wordless": Wordless(), "pigeon": Pigeon(tmp_path)}  # one page of which is missing
    changed = find_installed()._replace(foreign=foreign)
    monkeypatch.setattr(manual, "find_installed", lambda: changed)
    shown = command(tmp_path, "help", "tools")
    assert (shown.exit_code, shown.stdout.startswith("# ")) == (0, True)
    assert "extension 'wordless' has no readable pages: AttributeError" in shown.stderr
    assert "extension 'pigeon' has no readable pages: FileNotFoundError" in shown.stderr
