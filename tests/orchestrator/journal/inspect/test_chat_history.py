"""The chats of the journal, and what was said in them."""

from pathlib import Path

from fakes.journal import booted, open_turn, planned, receive, update

from orchestrator.journal.inspect import chat_history
from orchestrator.journal.inspect.chat_history import PAGE
from orchestrator.journal.turns import approvals

KEY = "telegram/1/7/"


def test_newest_chats_come_first_with_their_last_message(tmp_path: Path) -> None:
    """One line for each."""
    with booted(tmp_path) as db:
        for number, chat in enumerate(("7", "8", "7"), 1):
            receive(db, update(number, f"text {number}", chat), now=number)
        found = chat_history.chats(db)
        assert [(item.key, item.text) for item in found] == [
            (KEY, "text 3"),
            ("telegram/1/8/", "text 2"),
        ]
        assert chat_history.chats(db, user="ann") == []


def test_long_chat_is_read_page_by_page(tmp_path: Path) -> None:
    """Fifty messages each, oldest first, nothing twice."""
    with booted(tmp_path) as db:
        receive(db, *(update(number, str(number)) for number in range(1, 2 * PAGE + 11)))
        texts: list[str] = []
        before, pages = None, 0
        while pages == 0 or before is not None:
            page = chat_history.page(db, KEY, before)
            texts = [line.text for talk in page.turns for line in talk.asked] + texts
            before, pages = page.before, pages + 1
        assert texts == [str(number) for number in range(1, 2 * PAGE + 11)]
        assert pages == 3


def test_turn_is_shown_with_its_calls_and_the_question_that_waits(tmp_path: Path) -> None:
    """The question has the hash of what would run."""
    with booted(tmp_path) as db:
        turn = open_turn(db)
        _, pay = planned(db, turn.id, "read", "pay")
        approvals.ask(db, pay, "because", "c0de", 0)
        db.execute("UPDATE turn SET state = 'waiting', wait = 'approval'")
        (talk,) = chat_history.page(db, KEY).turns
        assert [line.tool for line in talk.calls] == ["read", "pay"]
        (asked,) = talk.questions
        assert (asked.code, asked.tool, asked.reason) == ("c0de", "pay", "because")
        assert asked == chat_history.question(db, "c0de", 1)
        assert asked.args_hash == db.execute("SELECT args_hash FROM approval").get
        assert chat_history.question(db, "c0de", asked.expires) is None
        db.execute("UPDATE turn SET state = 'running', wait = NULL")
