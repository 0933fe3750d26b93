"""The chats of the journal, and what was said in them."""

from pathlib import Path

from fakes.journal import booted, open_turn, planned, receive, update

from orchestrator.journal.inspect import chat_history
from orchestrator.journal.inspect.chat_history import PAGE, TurnTalk
from orchestrator.journal.turns import approvals, outbox
from orchestrator.journal.turns.outbox import Address, OutboxPart

KEY = "telegram/1/7/"
ADDRESS = Address("telegram", "1", "7")


def texts(talk: TurnTalk) -> list[str]:
    """What was asked and said."""
    return [line.text for line in talk.asked] + [line.text for line in talk.said]


def test_newest_chats_come_first_with_their_last_message(tmp_path: Path) -> None:
    """One line for each."""
    with booted(tmp_path) as db:
        for number, chat in enumerate(("7", "8", "7"), 1):
            receive(db, update(number, f"text {number}", chat), now=number)
        found = chat_history.list_chats(db)
        assert [(item.key, item.text) for item in found] == [
            (KEY, "text 3"),
            ("telegram/1/8/", "text 2"),
        ]
        assert chat_history.list_chats(db, owner="web/local/ann") == []


def test_long_chat_is_read_page_by_page(tmp_path: Path) -> None:
    """Fifty messages each, oldest first, nothing twice."""
    with booted(tmp_path) as db:
        receive(db, *(update(number, str(number)) for number in range(1, 2 * PAGE + 11)))
        texts: list[str] = []
        before, pages = None, 0
        while pages == 0 or before is not None:
            page = chat_history.load_history_page(db, KEY, before)
            texts = [line.text for talk in page.turns for line in talk.asked] + texts
            before, pages = page.before, pages + 1
        assert texts == [str(number) for number in range(1, 2 * PAGE + 11)]
        assert pages == 3


def test_turn_is_shown_with_its_calls_and_the_question_that_waits(tmp_path: Path) -> None:
    """The question has the hash of what would run."""
    with booted(tmp_path) as db:
        turn = open_turn(db)
        _, pay = planned(db, turn.id, "read", "pay")
        approvals.request_approval(db, pay, "because", "c0de", 0)
        db.execute("UPDATE turn SET state = 'waiting', wait = 'approval'")
        (talk,) = chat_history.load_history_page(db, KEY).turns
        assert [line.tool for line in talk.calls] == ["read", "pay"]
        (asked,) = talk.questions
        assert (asked.code, asked.tool, asked.reason) == ("c0de", "pay", "because")
        assert chat_history.list_open_questions(db, "code = ?", "c0de", 1) == [asked]
        assert asked.args_hash == db.execute("SELECT args_hash FROM approval").get
        assert chat_history.list_open_questions(db, "code = ?", "c0de", asked.expires) == []
        db.execute("UPDATE turn SET state = 'running', wait = NULL")


def test_what_comes_unasked_stands_where_it_came(tmp_path: Path) -> None:
    """The daemon's notices, and what a turn of another chat or a task sends."""
    with booted(tmp_path) as db:
        outbox.add_notice(db, Address("telegram", "1", "8"), "paused", 2)
        turn = open_turn(db)
        outbox.add_extra(
            db, turn.id, Address("telegram", "1", "8"), [OutboxPart("aside")], "direct", 3
        )
        receive(db, update(3, "last", "8"), now=4)
        talks = chat_history.load_history_page(db, "telegram/1/8/").turns
        assert [texts(talk) for talk in talks] == [["paused"], ["aside"], ["last"]]
        assert (talks[1].agent_id, talks[1].queue) == (turn.agent_id, turn.chat_key)


def test_pages_hold_messages_and_what_came_unasked_once(tmp_path: Path) -> None:
    """Also where many came at the same instant."""
    with booted(tmp_path) as db:
        for number in range(1, PAGE + 11):
            receive(db, update(number, f"{number}"), now=number // 20)
            outbox.add_notice(db, ADDRESS, f"notice {number}", number // 20)
        found: list[str] = []
        before, pages = None, 0
        while pages == 0 or before is not None:
            page = chat_history.load_history_page(db, KEY, before)
            found = [text for talk in page.turns for text in texts(talk)] + found
            before, pages = page.before, pages + 1
        assert len(found) == len(set(found)) == 2 * (PAGE + 10)
        assert pages == 3


def test_list_has_chats_and_no_queues_of_tasks(tmp_path: Path) -> None:
    """A chat that only gets messages is listed; where a task keeps its outcome is not."""
    with booted(tmp_path) as db:
        receive(db, update(1, "hello"), now=1)
        outbox.add_notice(db, Address("telegram", "1", "9"), "only told", 2)
        outbox.add_notice(db, Address("console", "local", "task-3"), "kept", 3)
        found = chat_history.list_chats(db)
        assert [(item.key, item.text) for item in found] == [
            ("telegram/1/9/", "only told"),
            (KEY, "hello"),
        ]
        assert [item.key for item in chat_history.list_chats(db, before=2)] == [KEY]
