"""Layered prompts: the Python API of seed 004."""

import hashlib

import pytest
from pydantic import BaseModel

from thinker.formats.prompts.problem import DefinitionError
from thinker.prompt.render.layered import LayeredPrompt, layered_prompt, text_and_key
from thinker.prompt.render.lower import lower
from thinker.prompt.render.sections import ToolRow
from thinker.protocol.messages import ToolSpec


class Fact(BaseModel):
    """A structured value of an author's own."""

    name: str
    size: int = 1


def full() -> LayeredPrompt:
    """A prompt with all eight sections."""
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


def test_sections_stand_in_the_seeds_order() -> None:
    """All eight, whatever their kind."""
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
    """Two prompts that read the same share a cache entry."""
    one = layered_prompt(identity="x", domain_knowledge={"a": 1, "b": 2})
    other = layered_prompt(identity="x", domain_knowledge={"b": 2, "a": 1})
    assert one.cache_key == other.cache_key == hashlib.sha256(one.text.encode()).hexdigest()
    assert text_and_key(one) == (one.text, one.cache_key)
    assert text_and_key("You are X.") == ("You are X.", None)


def test_merged_rows_come_after_explicit_ones_and_change_the_key() -> None:
    """What the author wrote of a tool stays; its name stands once."""
    prompt = layered_prompt(identity="x", safety="s", tools=[{"name": "a", "description": "mine"}])
    merged = prompt.with_tools([ToolRow("a", "generated"), ToolRow("b", "other", "never")])
    assert "| a | mine |  |\n| b | other | never |\n\n# Safety" in merged.text
    assert merged.cache_key != prompt.cache_key
    assert layered_prompt(identity="x", safety="s").with_tools(["t"]).text == (
        "# Identity\nx\n\n# Tools\n| Tool | Description | Approval |\n| --- | --- | --- |\n"
        "| t |  |  |\n\n# Safety\ns"
    )
    assert prompt.with_tools([]) == prompt


def test_a_row_stays_one_row() -> None:
    """Bars and line ends in a description cannot break the table."""
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
    ],
)
def test_what_a_section_does_not_take_is_refused(sections: dict[str, object]) -> None:
    """One class of error, which says which section it is about."""
    with pytest.raises(DefinitionError):
        layered_prompt(**sections)  # type: ignore[arg-type]  # wrong on purpose


def test_empty_sections_are_left_out() -> None:
    """None, blank text and empty collections say nothing; zero and false do."""
    prompt = layered_prompt(
        identity="x", communication=" ", operational_rules=["", " "], tools=[], domain_knowledge={}
    )
    assert prompt.text == "# Identity\nx"
    assert layered_prompt(identity="x", examples=0).text == "# Identity\nx\n\n# Examples\n0"


def test_source_of_a_layered_prompt_is_a_prompt_of_a_definition() -> None:
    """The value from Python and the file lower to the same sections."""
    assert lower({"p": full().source}, "p") == tuple(
        section.__class__(**{**vars(section), "source": "p"}) for section in full().sections
    )
