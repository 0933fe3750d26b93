"""The lines in which two texts differ, however long they are."""

from orchestrator.extensions.versions.text_difference import format_difference

LINES = [f"line {number}" for number in range(1000)]


def test_changed_lines_stand_among_their_neighbours() -> None:
    """Also at the beginning and the end."""
    changed = [*LINES]
    changed[500] = "another"
    assert format_difference("\n".join(LINES), "\n".join(changed)).split("\n") == [
        " line 498",
        " line 499",
        "-line 500",
        "+another",
        " line 501",
        " line 502",
    ]
    assert format_difference("a\nb", "b") == "-a\n b"
    assert format_difference("a", "a") == ""
    assert format_difference("", "a") == "+a"


def test_changes_far_from_each_other_are_apart() -> None:
    """A sign stands for the lines between them."""
    changed = [*LINES]
    changed[0], changed[900] = "first", "last"
    found = format_difference("\n".join(LINES), "\n".join(changed)).split("\n")
    assert found[:3] == ["-line 0", "+first", " line 1"]
    assert found[4] == "…"


def test_texts_without_a_common_line_are_counted() -> None:
    """Comparing them would take long, and show nothing."""
    other = "\n".join(f"{line} b" for line in LINES * 3)
    assert format_difference("\n".join(LINES * 3), other) == (
        "3000 lines become 3000 others, from line 1 on"
    )
