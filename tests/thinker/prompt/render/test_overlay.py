"""Sections are combined by id."""

from dataclasses import replace

from thinker.prompt.render.overlay import drop_repeated_rows, overlay_sections
from thinker.prompt.render.sections import Section, Text, ToolRow, ToolTable


def section(name: str, text: str = "x") -> Section:
    """Return a section of text."""
    return Section(name, Text(text), "p")


def test_section_above_replaces_the_one_below_with_its_attachments() -> None:
    """Sections that are attached to the replaced one belong to it."""
    below = (section("a"), replace(section("include"), attached=True), section("b"))
    above = section("a", "new")
    assert overlay_sections(below, [above]) == (above, section("b"))


def test_new_section_goes_where_the_order_puts_it() -> None:
    """Without an order it goes to the end."""
    below = (section("a"), section("c"))
    assert [s.id for s in overlay_sections(below, [section("b")], ("a", "b", "c"))] == [
        "a",
        "b",
        "c",
    ]
    assert [s.id for s in overlay_sections(below, [section("b")])] == ["a", "c", "b"]


def test_tool_tables_are_joined_and_rows_below_win() -> None:
    """Authors write the rows below by hand."""
    mine, theirs, other = ToolRow("t", "mine"), ToolRow("t", "theirs"), ToolRow("u")
    below = Section("tools", ToolTable((mine,)), "p")
    above = Section("tools", ToolTable((theirs, other)), "runtime")
    assert overlay_sections([below], [above]) == (replace(below, body=ToolTable((mine, other))),)
    assert drop_repeated_rows([mine, theirs, other]) == (mine, other)
