"""Which part of a growing answer is printed for good."""

import pytest

from orchestrator.extensions.terminal.answer_stream import AnswerStream, measure_settled_text

LONG = (
    "# Title\n\none\ntwo\n\n- a\n- b\n\n  more\n\n```py\nx = 1\n\n\ny = 2\n```\n\n1. c\n2. d\n\nend"
)


@pytest.mark.parametrize(
    ("text", "length"),
    [
        ("", 0),
        ("one\ntwo", 0),
        ("one\n\ntwo", 5),
        ("# t\ntext", 4),
        ("- a\n\n- b\n\n  c", 0),
        ("```\na\n\nb", 0),
        ("a\n\n```\nb\n```\n", 3),
        ("| a |\n|---|\n| b |\n", 0),
        ("wide \u2028 sign\n\nx", 13),
    ],
)
def test_last_block_is_not_settled(text: str, length: int) -> None:
    """It may grow, or become something else: a list, a table, a heading."""
    assert measure_settled_text(text) == length


@pytest.mark.parametrize("size", [1, 3, 7, 1000])
def test_each_character_is_printed_once_in_whatever_pieces_it_grows(size: int) -> None:
    """The blocks that were printed and the rest at the end are the reply."""
    stream, printed = AnswerStream("t1"), list[str]()
    for end in range(size, len(LONG) + size, size):
        printed.append(stream.update_text(LONG[:end]))
        assert len(stream.unprinted_text) <= len(LONG)
    printed.append(stream.finish_reply(LONG))
    assert "\n\n".join(filter(None, printed)) == LONG


def test_reply_that_goes_on_after_the_response_is_printed_from_there() -> None:
    """A note of the daemon may stand at its end."""
    stream = AnswerStream("t1")
    assert stream.update_text("one\n\ntwo") == "one"
    assert stream.finish_reply("one\n\ntwo\n\nnote") == "two\n\nnote"


def test_reply_that_differs_from_what_was_shown_is_printed_whole() -> None:
    """As when a link was taken out of it; what is final counts."""
    stream = AnswerStream("t1")
    stream.update_text("see http://a.example\n\ntwo")
    assert stream.finish_reply("see hxxp://a[.]example\n\ntwo") == "see hxxp://a[.]example\n\ntwo"


def test_response_after_a_call_is_another_text() -> None:
    """Also if it begins with the same words; the reply is the last one alone."""
    stream = AnswerStream("t1")
    assert stream.update_text("OK.") == ""
    assert (stream.end_response(), stream.end_response()) == ("OK.", "")
    assert stream.update_text("OK. Done") == ""
    assert stream.unprinted_text == "OK. Done"
    assert stream.finish_reply("OK. Done.") == "OK. Done."


def test_attempt_of_another_worker_begins_anew() -> None:
    """What the dead one had said last is not printed."""
    stream = AnswerStream("t1")
    assert stream.update_text("one\n\nhalf a sen") == "one"
    assert stream.update_text("another\n\nbeginning") == "another"
    assert stream.finish_reply("another\n\nbeginning and end") == "beginning and end"
