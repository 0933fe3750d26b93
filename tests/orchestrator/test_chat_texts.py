"""How a reply is put together."""

from orchestrator import chat_texts


def test_an_answer_alone_is_the_whole_reply() -> None:
    """Nothing is added when there is nothing to say."""
    assert chat_texts.compose_reply(" It is noon.\n", [], []) == "It is noon."


def test_what_is_unsure_is_said_by_code_and_not_left_to_the_model() -> None:
    """Earlier messages come first, tools of this turn last."""
    text = chat_texts.compose_reply("Done.", ["Your order"], ["pay"])
    first, answer, last = text.split("\n\n")
    assert first.endswith("\nYour order")
    assert answer == "Done."
    assert last == "⚠️ I couldn't confirm whether this happened: pay."


def test_a_blank_answer_still_says_something() -> None:
    """A chat never waits for a reply that is empty."""
    assert chat_texts.compose_reply("  \n", [], []) == chat_texts.NOTHING
