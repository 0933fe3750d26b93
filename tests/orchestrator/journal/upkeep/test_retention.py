"""What retention removes, and what it must leave."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes.agents_file import parsed
from fakes.journal import (
    CLASSES,
    job,
    next_turn,
    open_turn,
    opened,
    receive,
    step,
    store_in,
    update,
)
from fakes.postgresql import POSTGRESQL
from fakes.time_limit import time_limit

from orchestrator.journal.db.database import Database
from orchestrator.journal.inspect import invariants
from orchestrator.journal.turns import (
    api_conversations,
    api_requests,
    inbox,
    outbox,
    prompt_records,
    sessions,
    steps,
    stored_files,
    turns,
)
from orchestrator.journal.turns.inbox import Arrival
from orchestrator.journal.turns.outbox import Part
from orchestrator.journal.turns.prompt_records import PromptSources, SentPrompt
from orchestrator.journal.turns.turns import Turn
from orchestrator.journal.upkeep import retention
from orchestrator.maintenance.retention import RetentionJob
from thinker.protocol.messages import UserMessage
from thinker.protocol.prompt_record import PromptRecord

DAY = 86_400_000


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    """An empty journal."""
    with opened(tmp_path) as connection:
        yield connection


def finished(db: Database, number: int, now: int) -> Turn:
    """A turn of chat 7 with a rejected call and a delivered answer, that ended at a time."""
    turn = open_turn(db, f"t{number}") if number == 1 else _following(db, number)
    with job(db):
        steps.plan(db, step(turn.id, "read", rejected="no"), CLASSES, 1, now)
        steps.plan(db, step(turn.id, content="done"), CLASSES, 1, now)
        turns.reply(db, turn, [Part("done")], "direct", ("done", None), now)
    for row in outbox.due(db, "telegram"):
        with job(db):
            outbox.sending(db, row.id, "sending", now)
            outbox.delivered(db, row.id, "9", now)
    return turn


def _following(db: Database, number: int) -> Turn:
    receive(db, update(number))
    turn = next_turn(db, f"t{number}")
    assert turn is not None
    return turn


def count(db: Database, table: str) -> int:
    """The rows of a table."""
    return int(db.execute(f"SELECT count(*) FROM {table}").get)  # noqa: S608 - names of this file


def test_old_turn_goes_with_everything_of_it(db: Database) -> None:
    """What was said stays; the newest turn of a chat is how the agent finds it again."""
    for number, now in ((1, 10), (2, 20), (3, 30)):
        finished(db, number, now)
    with job(db):
        assert retention.turns(db, 25) == 2
        assert retention.turns(db, 100) == 0
    for table in ("turn", "inbox", "outbox"):
        assert count(db, table) == 1, table
    assert count(db, "step") == 3
    assert {turn for (turn,) in db.execute("SELECT DISTINCT turn_id FROM transition")} >= {"t3"}
    assert count(db, "message") == 12
    assert sessions.address(db, "work", "telegram", "7") is not None
    assert invariants.violations(db) == []


def test_what_no_prompt_is_made_of_any_more_goes(db: Database) -> None:
    """With the last turn that used it."""
    first, second = PromptRecord(layers=()), PromptRecord(layers=(), tools=("look",))
    for number, record in ((1, first), (2, second), (3, second)):
        turn = finished(db, number, number)
        with job(db):
            sent = SentPrompt(turn.id, number, turn.session_id, turn.started_at)
            prompt_records.record(db, sent, record, PromptSources({"name": [*record.tools]}))
    with job(db):
        retention.turns(db, 3)
    assert (count(db, "turn_prompt"), count(db, "prompt_part")) == (1, 2)


def test_open_and_dead_turns_stay(db: Database) -> None:
    """Whatever their age: one goes on, the other waits for the operator."""
    dead = open_turn(db)
    with job(db):
        turns.dead_letter(db, dead, "poison", "sorry", 5)
    _following(db, 2)
    with job(db):
        assert retention.turns(db, DAY) == 0
    assert count(db, "turn") == 2


def test_commands_refusals_and_notices_go_but_not_a_chats_newest(db: Database) -> None:
    """And nothing that was not sent yet."""
    finished(db, 1, 10)
    with job(db):
        refused = [Arrival(update(n, chat_id="8"), "not admitted", "no") for n in (5, 6)]
        inbox.ingest(db, refused, None, 20)
    (first, _) = [row for row in outbox.due(db, "telegram") if row.chat_id == "8"][:1] * 2
    with job(db):
        outbox.sending(db, first.id, "sending", 21)
        outbox.delivered(db, first.id, "9", 21)
        assert retention.loose(db, 30) == 2
        assert retention.loose(db, 30) == 0
    assert [n for (n,) in db.execute("SELECT message_id FROM inbox")] == ["1", "6"]
    assert invariants.violations(db) == []


def test_only_what_a_summary_or_an_end_covers_is_forgotten(db: Database) -> None:
    """The window of an open session stays, however old; an ended session goes with its turns."""
    finished(db, 1, 10)
    turn = finished(db, 2, 20)
    with job(db):
        db.execute("UPDATE session SET summary = 's', summary_upto = 4")
        assert retention.messages(db, 100) == 4
        assert len(sessions.window(db, turn.session_id, 50)) == 4
        sessions.end(db, "work", turn.chat_key, 30)
        assert retention.messages(db, 100) == 4
    assert count(db, "session") == 1  # its turns are still here
    assert count(db, "said" if POSTGRESQL else "message_words_docsize") == 0


def test_pictures_go_by_their_age(db: Database) -> None:
    """Those that came again are young."""
    for data, now in ((b"a", 1), (b"b", 1), (b"a", 9)):
        stored_files.keep(db, data, "image/png", now)
    assert retention.pictures(db, 5) == 1
    assert [data for (data,) in db.execute("SELECT data FROM media")] == [b"a"]


def test_conversation_of_a_client_goes_when_no_request_belongs_to_it(
    db: Database,
) -> None:
    """With what waits in it; one with requests stays, and a new one."""
    waiting = UserMessage(content="waits")
    for name, at in (("conv_old", 1), ("conv_used", 1), ("conv_new", 9 * DAY)):
        with job(db):
            api_conversations.create(db, name, {}, at)
            api_conversations.add(db, name, [waiting])
    body = api_requests.Body(messages=(waiting,))
    asked = api_requests.NewRequest("r", "work", body, "d", conversation="conv_used")
    with job(db):
        api_requests.receive(db, asked, 1)
        assert retention.conversations(db, 5 * DAY) == 1
        assert retention.conversations(db, 5 * DAY) == 0
    left = db.execute(
        "SELECT DISTINCT conversation_id FROM conversation_item ORDER BY 1"
    ).fetchall()
    assert left == [("conv_new",), ("conv_used",)]


def test_logins_and_invites_go_when_they_have_ended(db: Database) -> None:
    """Whoever had one logs in again."""
    for digest, ends in (("a", 5), ("b", 9)):
        db.execute(
            'INSERT INTO web_session(digest, "user", role, made_at, last_at, ends_at)'
            " VALUES(?,'ann','chat',1,1,?)",
            (digest, ends),
        )
        db.execute("INSERT INTO web_invite VALUES(?,'ann','chat',NULL,?,NULL)", (digest, ends))
    assert retention.logins(db, 9) == 2
    assert retention.logins(db, 9) == 0
    assert (count(db, "web_session"), count(db, "web_invite")) == (1, 1)


async def test_sweep_goes_by_the_days_of_the_configuration(db: Database, tmp_path: Path) -> None:
    """In small transactions, until nothing old is left."""
    for number in range(1, 4):
        finished(db, number, number * DAY)
    loaded = parsed({"agentId": "work", "model": "m"}, retention={"turnDays": 7})
    store = store_in(tmp_path)
    try:
        with time_limit():
            await RetentionJob(store, lambda: loaded.file, lambda: round(9.5 * DAY)).sweep()
    finally:
        store.close()
    assert [turn for (turn,) in db.execute("SELECT id FROM turn")] == ["t3"]
    assert count(db, "message") == 12
