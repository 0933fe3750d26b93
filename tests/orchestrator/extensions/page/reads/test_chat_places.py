"""Where something is in the pages of a chat."""

from pathlib import Path

from fakes.journal import booted, open_turn, receive, update

from orchestrator.extensions.page.reads import chat_places
from orchestrator.journal.inspect import chat_history
from orchestrator.journal.inspect.chat_history import PAGE

KEY = "telegram/1/7/"


def test_page_with_a_turn_ends_some_messages_after_it(tmp_path: Path) -> None:
    """A turn of another chat has no place."""
    with booted(tmp_path) as db:
        turn = open_turn(db)
        receive(db, *(update(number, str(number)) for number in range(10, 2 * PAGE + 20)))
        place = chat_places.find_page_of_turn(db, KEY, turn.id)
        assert place is not None
        first, *rest = chat_history.load_history_page(db, KEY, place).turns
        assert first.turn_id == turn.id
        assert 0 < len(rest) < PAGE
        assert chat_places.find_page_of_turn(db, "telegram/1/8/", turn.id) is None
