"""Layered prompts have eight sections and a cache key."""

import hashlib
import json
from typing import cast

import pytest
from pydantic import BaseModel

from thinker.formats.prompts.problem import DefinitionError
from thinker.prompt.render.layered import LayeredPrompt, layered_prompt, read_text_and_key
from thinker.prompt.render.lower import lower_definition
from thinker.prompt.render.sections import ToolRow
from thinker.protocol.messages import ToolSpec


class Fact(BaseModel):
    """A structured value defined by an author."""

    name: str
    size: int = 1


def full() -> LayeredPrompt:
    """Return a prompt with all eight sections."""
    return layered_prompt(
        identity="You plan.",
        communication="Be brief.",
        operational_rules=["One.", "Two\nlines."],
        tools=[ToolSpec(name="spec", description="From a spec", parameters={}), "bare"],
        domain_knowledge={"b": [Fact(name="x")], "a": (1, 2)},
        safety=["Ask first."],
        output_format="One line.",
        examples=[{"user": "hi"}],
    )


def test_sections_have_a_fixed_order() -> None:
    """Each kind of section has its own Markdown."""
    assert full().text == (
        "# Identity\nYou plan.\n\n"
        "# Communication\nBe brief.\n\n"
        "# Operational Rules\n- One.\n- Two\n  lines.\n\n"
        "# Tools\n| Tool | Description | Approval |\n| --- | --- | --- |\n"
        "| spec | From a spec |  |\n| bare |  |  |\n\n"
        '# Domain Knowledge\n{\n  "a": [\n    1,\n    2\n  ],\n  "b": [\n    {\n'
        '      "name": "x",\n      "size": 1\n    }\n  ]\n}\n\n'
        "# Safety\n- Ask first.\n\n"
        "# Output Format\nOne line.\n\n"
        '# Examples\n[\n  {\n    "user": "hi"\n  }\n]'
    )


def test_key_is_the_hash_of_the_text_and_survives_key_order() -> None:
    """Prompts with equal text share a cache entry."""
    one = layered_prompt(identity="x", domain_knowledge={"a": 1, "b": 2})
    other = layered_prompt(identity="x", domain_knowledge={"b": 2, "a": 1})
    assert one.cache_key == other.cache_key == hashlib.sha256(one.text.encode()).hexdigest()
    assert read_text_and_key(one) == (one.text, one.cache_key)
    assert read_text_and_key("You are X.") == ("You are X.", None)


@pytest.mark.parametrize("other", [None, 5, {"identity": "x"}, ["You are X."]])
def test_prompt_of_another_type_is_refused(other: object) -> None:
    """In the words of the seed."""
    with pytest.raises(TypeError, match=r"^prompt must be a string or LayeredPrompt$"):
        read_text_and_key(cast("str", other))


def test_merged_rows_come_after_explicit_ones_and_change_the_key() -> None:
    """The author's row wins, and each name has one row."""
    prompt = layered_prompt(identity="x", safety="s", tools=[{"name": "a", "description": "mine"}])
    merged = prompt.with_tools([ToolRow("a", "generated"), ToolRow("b", "other", "never")])
    assert "| a | mine |  |\n| b | other | never |\n\n# Safety" in merged.text
    assert merged.cache_key != prompt.cache_key
    assert layered_prompt(identity="x", safety="s").with_tools(["t"]).text == (
        "# Identity\nx\n\n# Tools\n| Tool | Description | Approval |\n| --- | --- | --- |\n"
        "| t |  |  |\n\n# Safety\ns"
    )
    assert prompt.with_tools([]) == prompt


def test_row_of_the_table_stays_one_line() -> None:
    """Bars and line breaks in a description cannot break the table."""
    text = layered_prompt(identity="x", tools=[{"name": "a", "description": "x|y\n| z \\"}]).text
    assert text.endswith("| a | x\\|y \\| z \\\\ |  |")


@pytest.mark.parametrize(
    "sections",
    [
        {"identity": " "},
        {"identity": 3},
        {"identity": "x", "safety": {"a": 1}},
        {"identity": "x", "safety": [1]},
        {"identity": "x", "domain_knowledge": {1, 2}},
        {"identity": "x", "examples": float("nan")},
        {"identity": "x", "tools": [{"description": "no name"}]},
        {"identity": "x", "tools": [""]},
        {"identity": "x", "tools": [5]},
        {"identity": "x", "tools": "search"},
        {"identity": "x", "tools": {"name": "search"}},
        {"identity": "x", "tools": 5},
        {"identity": "x", "safety": [{"type": "include", "prompt": "house_rules"}]},
    ],
)
def test_value_of_the_wrong_type_is_refused(sections: dict[str, object]) -> None:
    """The error is a DefinitionError that names the section."""
    with pytest.raises(DefinitionError):
        layered_prompt(**sections)  # type: ignore[arg-type]  # wrong on purpose


@pytest.mark.parametrize("key", ["prompt", "property"])
def test_value_that_looks_like_a_part_is_rendered_as_json(key: str) -> None:
    """What a program knows may have these keys; only files insert texts and variables."""
    value = {"type": {"prompt": "include", "property": "env"}[key], key: "x"}
    text = layered_prompt(identity="x", domain_knowledge=value).text
    assert json.loads(text.removeprefix("# Identity\nx\n\n# Domain Knowledge\n")) == value


def test_empty_sections_are_left_out() -> None:
    """None, blank text and empty collections are empty; zero and false are not."""
    prompt = layered_prompt(
        identity="x", communication=" ", operational_rules=["", " "], tools=[], domain_knowledge={}
    )
    assert prompt.text == "# Identity\nx"
    assert layered_prompt(identity="x", examples=0).text == "# Identity\nx\n\n# Examples\n0"


def test_definition_accepts_a_layered_prompt() -> None:
    """A file and Python code give the same sections."""
    assert lower_definition({"p": full().source}, "p") == tuple(
        section.__class__(**{**vars(section), "source": "p"}) for section in full().sections
    )
