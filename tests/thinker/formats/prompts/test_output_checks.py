"""What cannot be the schema of an answer is refused in files, with the place and what to write."""

import re
from pathlib import Path

import pytest
from fakes.manual import REFERENCES

from thinker.formats.prompts.definition_files import DefinitionFile, load_definition_file

HEAD = "toolDescription: Reads\nmodel: inherit\nprompt:\n  slots:\n    system: You read.\n"


def read(folder: Path, slots: str) -> DefinitionFile:
    """A definition with these slots, from line 6 on."""
    path = folder / "reader.yaml"
    lines = "".join(f"    {line}\n" for line in slots.splitlines())
    path.write_text(HEAD + lines, "utf-8")
    return load_definition_file(path)


@pytest.mark.parametrize(
    ("slots", "said"),
    [
        (
            'output:\n  number: [str, "words"]',
            "7 prompt.slots.output.number: a list with 'str' in it is not a schema; write {$type:",
        ),
        (
            'output:\n  number: [int, "so many"]',
            'write {$type: int, $desc: "so many"} for one value, or {$type: "list[int]"',
        ),
        ("output: [words]", "6 prompt.slots.output: a list with 'words' in it is not a schema"),
        (
            "output:\n  a: {$type: str}\n  total: float",
            "8 prompt.slots.output.total: 'float' is a description there; write {$type: float}",
        ),
        ("output:\n  a: list[int]", 'is a description there; write {$type: "list[int]"}'),
        (
            "output:\n  rows:\n    - a: 3",
            "8 prompt.slots.output.rows[0].a: 3 is not a schema; write {$type: str",
        ),
        ("output:\n  a:", "7 prompt.slots.output.a: nothing is not a schema; write {$type: str"),
        ("output:\n  a: {$typ: str}", "7 prompt.slots.output.a: has no $type; write only $type"),
        ("output:\n  a: {$type: str, desc: x}", "output.a: has 'desc' besides $type; write only"),
        (
            "output:\n  a: {$type: strr}",
            "7 prompt.slots.output.a.$type: $type 'strr' is not a type",
        ),
        ("output:\n  a: {$type: [words]}", "output.a.$type: a list with 'words' in it"),
        ("output: words\noutput_format: json", "6 prompt.slots.output: an answer in JSON needs fi"),
        ("output_format: json", "6 prompt.slots.output_format: an answer in JSON needs fields"),
    ],
)
def test_text_in_the_place_of_a_schema_is_refused(tmp_path: Path, slots: str, said: str) -> None:
    """Only once, with its line; the definition is not used."""
    found = read(tmp_path, slots)
    (problem,) = found.problems
    assert said in f"{found.find_line(problem)} {problem}"
    assert found.definition is None


def test_every_wrong_field_is_told_beside_the_other_problems(tmp_path: Path) -> None:
    """Also where the options are wrong."""
    found = read(tmp_path, "output: {a: int, b: [c]}\noptions: {ensure_keys: a}")
    assert [(found.find_line(problem), problem.field) for problem in found.problems] == [
        (6, "prompt.slots.output.a"),
        (6, "prompt.slots.output.b"),
        (7, "prompt.slots.options.ensure_keys"),
    ]


@pytest.mark.parametrize(
    "slots", ["output: In one sentence.", "output: {why: a reason}", "info: 3"]
)
def test_words_may_describe_an_answer(tmp_path: Path, slots: str) -> None:
    """As the whole output, or as a field that takes any value."""
    assert read(tmp_path, slots).problems == ()


def test_what_the_manual_says_is_refused_is_and_what_it_says_to_write_is_not(
    tmp_path: Path,
) -> None:
    """Row by row of its table."""
    text = (REFERENCES / "output-grammar.md").read_text("utf-8").partition("check` refuses")[2]
    rows = re.findall(r"^\| `([^`]+)`[^|]*\| `([^`]+)` \|$", text, re.MULTILINE)
    assert len(rows) >= 5
    for wrong, right in rows:
        fields = (f"x: {part}" if part[0] == "{" else part for part in (wrong, right))
        found = [read(tmp_path, f"output:\n  {field}").problems for field in fields]
        assert [bool(problems) for problems in found] == [True, False], wrong
