"""What was shown of a forgotten fact leaves the chats that it was shown to."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes.journal import job, open_turn, opened

from orchestrator.journal.db.database import Database
from orchestrator.journal.turns import outbox, prompt_records, turns
from orchestrator.journal.turns.outbox import OutboxPart
from orchestrator.journal.turns.prompt_records import SentPrompt
from orchestrator.journal.turns.shown_texts import MARGIN, blank_shown_texts
from thinker.protocol.messages import LayerRecord, ToolResult, UserMessage
from thinker.protocol.prompt_record import PromptRecord

LONG = 'The user\'s  door\ncode is\t4711, on weekdays & "holidays".'


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    """A journal with a chat of the agent ``work``."""
    with opened(tmp_path) as connection:
        with job(connection):
            turns.boot(connection, 0)
        open_turn(connection)
        yield connection


def add(db: Database, message: UserMessage | ToolResult) -> int:
    """Store a message of the chat, and return its id."""
    (session,) = db.execute("SELECT max(id) FROM session").fetchone()
    body = message.model_dump_json()
    (number,) = db.execute(
        "INSERT INTO message(session_id, body, at) VALUES(?, ?, 1) RETURNING id", (session, body)
    ).fetchone()
    return int(number)


def body(db: Database, number: int) -> str:
    """A message as it is stored."""
    return str(db.execute("SELECT body FROM message WHERE id = ?", (number,)).get)


def context(text: str) -> UserMessage:
    """A message with a layer."""
    return UserMessage(content=f"Is it so: {text}", context=(LayerRecord(name="m", text=text),))


@pytest.mark.parametrize("shown", [LONG, " ".join(LONG.split())])
def test_text_goes_from_layers_however_it_is_spaced(db: Database, shown: str) -> None:
    """What the person said in this chat stays."""
    with job(db):
        number = add(db, context(f"- {shown} (contact)"))
        blank_shown_texts(db, "work", [LONG])
    left = UserMessage.model_validate_json(body(db, number))
    assert left.context[0].text == "- (forgotten) (contact)"
    assert left.content == f"Is it so: - {shown} (contact)"


def test_short_text_goes_only_where_it_is_an_entry(db: Database) -> None:
    """A name that is a whole fact does not tear holes into other sentences."""
    with job(db):
        number = add(db, context("- Ann (contact)\n- Ann likes tea (preference)"))
        blank_shown_texts(db, "work", ["Ann"])
    left = UserMessage.model_validate_json(body(db, number))
    assert left.context[0].text == "- (forgotten) (contact)\n- Ann likes tea (preference)"


def test_text_goes_from_lists_that_the_daemon_sent(db: Database) -> None:
    """People see it there without hidden signs; what an agent has answered stays."""
    (row,) = db.execute("SELECT id FROM turn").fetchone()
    chat = outbox.Address("telegram", "1", "7", "")
    with job(db):
        outbox.add_notice(db, chat, "- The safe is in the cellar (1, since May)", 1)
        outbox.add_extra(db, row, chat, [OutboxPart("The safe is in the cellar")], "direct", 1)
        blank_shown_texts(db, "work", ["The safe is \u202ein the cellar"])
    kept = [text for (text,) in db.execute("SELECT body FROM outbox ORDER BY id")]
    assert kept == ["- (forgotten) (1, since May)", "The safe is in the cellar"]


def test_one_tool_alone_is_searched_if_it_is_named(db: Database) -> None:
    """The words of a chat are common in others; a search shows that chat's."""
    with job(db):
        searched, other = (
            add(db, ToolResult(call_id="c", name=name, content="- user: good morning to you"))
            for name in ("search_conversations", "fetch")
        )
        blank_shown_texts(db, "work", ["good morning to you"], "search_conversations")
    assert "good morning" not in body(db, searched)
    assert "good morning" in body(db, other)


def test_long_layers_that_prompts_share_are_searched_too(db: Database) -> None:
    """Every prompt that has the layer has it without the text."""
    layer = LayerRecord(name="skills", text=f"{LONG} {'x' * 300}")
    (turn, session) = db.execute("SELECT id, session_id FROM turn LIMIT 1").fetchone()
    with job(db):
        for at in (77, 78):
            sent = SentPrompt(str(turn), at, int(session), 1)
            prompt_records.record_prompt(db, sent, PromptRecord(layers=(layer,)))
        blank_shown_texts(db, "work", [LONG])
    found = [prompt for at, prompt in prompt_records.list_prompts_of_turn(db, str(turn)) if at > 70]
    assert [prompt.layers[0].text for prompt in found] == [f"(forgotten) {'x' * 300}"] * 2
    assert db.execute("SELECT 1 FROM prompt_part WHERE instr(body, '4711') > 0").get is None


def test_another_agent_keeps_what_it_was_shown(db: Database) -> None:
    """Its memory is its own."""
    with job(db):
        number = add(db, context(LONG))
        blank_shown_texts(db, "home", [LONG])
    assert "4711" in body(db, number)


def test_what_is_older_than_the_text_is_not_read(db: Database) -> None:
    """Each place by its time, with a day for clocks; a turn that goes on counts as new."""
    (turn, session) = db.execute("SELECT id, session_id FROM turn LIMIT 1").fetchone()
    first, later = 5 * MARGIN, 9 * MARGIN
    layer = LayerRecord(name="m", text=LONG)
    chat = outbox.Address("telegram", "1", "7", "")
    numbers = {}
    with job(db):
        db.execute("UPDATE turn SET ended_at = ?", (first,))
        db.execute("UPDATE message SET at = ?", (first,))
        db.execute("UPDATE outbox SET created_at = ?", (first,))
        sent = SentPrompt(str(turn), first, int(session), 1)
        prompt_records.record_prompt(db, sent, PromptRecord(layers=(layer,)))
        for at in (first, later):
            outbox.add_notice(db, chat, f"- {LONG} ({at}, since May)", at)
            numbers[at] = add(db, UserMessage(content="hello", context=(layer,)))
            db.execute("UPDATE message SET at = ? WHERE id = ?", (at, numbers[at]))
        blank_shown_texts(db, "work", [LONG], since=later)
    assert ["4711" in body(db, numbers[at]) for at in (first, later)] == [True, False]
    notices = db.execute("SELECT body FROM outbox WHERE notice = 1 ORDER BY id").fetchall()
    assert ["4711" in text for (text,) in notices] == [True, False]
    assert _find_prompt(db)
    with job(db):
        db.execute("UPDATE turn SET ended_at = NULL")
        blank_shown_texts(db, "work", [LONG], since=later)
    assert not _find_prompt(db)


def _find_prompt(db: Database) -> bool:
    """Whether a prompt has the text."""
    return db.execute("SELECT 1 FROM turn_prompt WHERE instr(body, '4711') > 0").get is not None
