"""Definitions are read from files of three formats, and invalid files are reported."""

import os
from pathlib import Path

import pytest

from thinker.formats.prompts.definition import PromptDefinition
from thinker.formats.prompts.definition_files import load_definition_file, scan_definitions
from thinker.formats.regular_file import DEFINITION

YAML = 'toolDescription: "no: really"\nmodel: inherit\nprompt: Be kind.\nincludeChat: true\n'
MARKDOWN = (
    "---\ntoolDescription: 'no: really'\nmodel: inherit\nincludeChat: true\n---\n\nBe kind.\n"
)
JSON = (
    '{"toolDescription": "no: really", "model": "inherit", "prompt": "Be kind.",'
    ' "includeChat": true}'
)


def wrong(path: Path, text: str) -> str:
    """Return the only problem of a file with this text."""
    path.write_text(text, "utf-8")
    (problem,) = load_definition_file(path).problems
    assert load_definition_file(path).definition is None
    return str(problem)


@pytest.mark.parametrize(("ending", "text"), [("md", MARKDOWN), ("yaml", YAML), ("json", JSON)])
def test_every_format_holds_the_same_definition(tmp_path: Path, ending: str, text: str) -> None:
    """The file's name is the definition's; byte order marks and Windows line ends are ignored."""
    path = tmp_path / f"kind.{ending}"
    path.write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
    found = load_definition_file(path)
    assert found.problems == ()
    assert found.definition == PromptDefinition(
        name="kind",
        tool_description="no: really",
        model="inherit",
        prompt="Be kind.",
        include_chat=True,
    )


def test_markdown_without_front_matter_is_a_text_to_include(tmp_path: Path) -> None:
    """Existing base prompts can be included as they are."""
    path = tmp_path / "rules.md"
    path.write_text("# Rules\n\nBe kind.\n", "utf-8")
    definition = load_definition_file(path).definition
    assert definition is not None
    assert (definition.prompt, definition.model) == ("# Rules\n\nBe kind.", "inherit")


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("a.yaml", "a: &x 1\nb: *x", "line 1: anchors, aliases and tags are not allowed"),
        ("a.yaml", "a: [", "line 2: "),
        ("a.yaml", "- 1", "the file must be 'field: value' lines"),
        ("a.json", "[1]", "Input should be an object; correct the file"),
        ("a.json", "{", "Invalid JSON"),
        ("a.json", JSON.replace("}", ', "prompt": "y"}'), "'prompt' appears twice; remove one"),
        ("a.yaml", f"{YAML}model: fast\n", "line 5: 'model' appears twice; remove one"),
        ("a.yaml", f"{YAML}env: {{A: x, B: y, A: z}}\n", "line 5: 'A' appears twice; remove one"),
        ("a.md", "---\nprompt: x\n---\ny", "prompt: is in the front matter and below it"),
        ("a.md", "---\n: :\n  -\n---\ny", "line 2: "),
        ("a.json", JSON.replace("{", '{"name": "b", ', 1), "name: 'b' is not the file's name"),
        ("a.md", "x" * (DEFINITION.max_bytes + 1), "larger than 256 KiB"),
    ],
)
def test_invalid_file_is_reported_with_the_correction(
    tmp_path: Path, name: str, text: str, problem: str
) -> None:
    """A problem is a sentence, never an exception."""
    assert problem in wrong(tmp_path / name, text)


def test_yaml_words_are_text(tmp_path: Path) -> None:
    """``no`` and ``on`` are not booleans."""
    path = tmp_path / "a.yaml"
    path.write_text("toolDescription: no\nmodel: on\nprompt: yes\n", "utf-8")
    definition = load_definition_file(path).definition
    assert definition is not None
    assert (definition.tool_description, definition.model, definition.prompt) == ("no", "on", "yes")


def test_unreadable_files_are_reported(tmp_path: Path) -> None:
    """A directory, bytes that are not text, and a pipe without an end."""
    (tmp_path / "dir.md").mkdir()
    (tmp_path / "latin.md").write_bytes(b"\xff")
    os.mkfifo(tmp_path / "pipe.md")
    found, _ = scan_definitions((tmp_path, tmp_path / "missing"))
    assert {name: str(file.problems[0]) for name, file in found.items()} == {
        "dir": "a directory, not a regular file; replace it with one",
        "latin": "not UTF-8 at byte 0; save it as UTF-8",
        "pipe": "a named pipe, not a regular file; replace it with one",
    }


def test_later_directory_wins_and_duplicates_are_reported(tmp_path: Path) -> None:
    """A definition of the user replaces the bundled one; two files of one name are an error."""
    ours, theirs = tmp_path / "bundled", tmp_path / "home"
    for folder in (ours, theirs):
        folder.mkdir()
        (folder / "a.yaml").write_text(YAML, "utf-8")
    (theirs / "a.md").write_text(MARKDOWN, "utf-8")
    (theirs / ".hidden.md").write_text("x", "utf-8")
    (theirs / "notes.txt").write_text("x", "utf-8")
    found, _ = scan_definitions((ours, theirs))
    assert found.keys() == {"a"}
    assert found["a"].path == theirs / "a.md"
    assert "a.yaml has the same name" in str(found["a"].problems[0])


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("a.md", "---\nmodel: inherit\ntoolDescription: x\nprompt: x\ntols: []\n---\n", 5),
        ("a.yaml", "model: inherit\ntoolDescription: x\nprompt: x\n\ntols: []\n", 5),
        (
            "a.json",
            '{"model": "inherit", "toolDescription": "x",\n"prompt": "x",\n\n"tols": []}',
            4,
        ),
        ("a.yaml", "model: inherit\ntoolDescription: x\nprompt:\n- {type: text}\n", 4),
        ("a.yaml", "a: [", 0),
    ],
)
def test_problem_has_its_line_in_the_file(tmp_path: Path, name: str, text: str, line: int) -> None:
    """That of the nearest part that exists; the words of a file that is not YAML tell theirs."""
    path = tmp_path / name
    path.write_text(text, "utf-8")
    found = load_definition_file(path)
    assert found.find_line(found.problems[0]) == line
