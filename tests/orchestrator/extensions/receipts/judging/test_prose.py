"""The sentences of an answer's Markdown."""

from hypothesis import given
from hypothesis import strategies as st

from orchestrator.extensions.receipts.judging.prose import list_lines, split_line


def test_code_quotations_tables_and_open_todos_are_left_out() -> None:
    """They are not what the answer says."""
    text = "One.\n```\ncode\n```\n> quoted\n| a | b |\n- [ ] open\n- [x] ticked\nTwo."
    assert list_lines(text) == ["One.", "- [x] ticked", "Two."]


def test_letter_ends_with_its_greeting_and_name() -> None:
    """What follows is the answer again."""
    text = "Here it is:\nDear Bob,\nI have paid.\nBest regards,\nAnna\nI've sent it."
    assert list_lines(text) == ["Here it is:", "I've sent it."]


def test_sentences_keep_abbreviations_and_dates_whole() -> None:
    """A full stop does not always end one."""
    shown = [one.shown for one in split_line("- **Dr. Lee** is in. Am 3. März um 10 Uhr. ✅ Gut")]
    assert shown == ["Dr. Lee is in.", "Am 3. März um 10 Uhr.", "✅ Gut"]


def test_quotation_is_taken_out_and_shown() -> None:
    """Its words are not the speaker's."""
    [sentence] = split_line("I added “Milk. Eggs.” to [the list](https://example.com).")
    assert sentence.quotations == ("Milk. Eggs.",)
    assert sentence.shown == 'I added "Milk. Eggs." to the list.'


@given(st.text(alphabet='ab.!? "“”`*-#[]()>|\n1\ue000\ue001'))
def test_any_line_is_split(text: str) -> None:
    """Without loss of order."""
    for line in list_lines(text):
        assert all(one.shown is not None for one in split_line(line))
