"""Layouts turn sections into text."""

from thinker.prompt.render.layouts import format_body, render_markdown, render_plain
from thinker.prompt.render.sections import (
    Bullets,
    Contract,
    Section,
    Structured,
    Text,
    ToolRow,
    ToolTable,
)

SECTIONS = (
    Section("identity", Text("You plan."), "p", title="Identity"),
    Section("text", Text(" Always."), "p", attached=True),
    Section("safety", Bullets(("One.", "Two\nlines.")), "p", title="Safety"),
)


def test_markdown_has_headings_and_plain_has_none() -> None:
    """Blank lines separate sections, except attached ones."""
    assert render_markdown(SECTIONS) == (
        "# Identity\nYou plan. Always.\n\n# Safety\n- One.\n- Two\n  lines."
    )
    assert render_plain(SECTIONS) == "You plan. Always.\n\n- One.\n- Two\n  lines."


def test_structured_values_are_json_with_sorted_keys() -> None:
    """Equal values give equal text."""
    assert format_body(Structured({"b": 1, "a": "é"})) == '{\n  "a": "é",\n  "b": 1\n}'


def test_cells_of_a_table_stay_on_their_line() -> None:
    """Bars are escaped, and line breaks become spaces."""
    table = format_body(ToolTable((ToolRow("a|b", "one\ntwo"),)))
    assert table.splitlines()[-1] == "| a\\|b | one two |  |"


def test_contract_shows_the_structure_of_the_answer() -> None:
    """Formats other than JSON are only named."""
    assert format_body(Contract({"a": (int,)}, "json")) == (
        'Answer with JSON of this structure:\n{\n  "a": <int>\n}'
    )
    assert format_body(Contract(None, "markdown")) == "Answer with markdown."
