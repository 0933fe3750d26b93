"""A text that comes piece by piece."""

from thinker.models.growing import TextBuffer


def test_text_is_all_its_pieces_whenever_it_is_read() -> None:
    """What is empty or nothing adds nothing."""
    growing = TextBuffer()
    assert growing.text == ""
    for piece in ("a", None, "", "b"):
        growing.add(piece)
    assert growing.text == "ab"
    growing.add("c")
    assert (growing.text, growing.text) == ("abc", "abc")
