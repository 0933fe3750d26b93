"""What is forgotten leaves no row and no word; everything else stays (invariant 22)."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes.journal import job, open_turn, opened, receive, update
from fakes.lived import Life, embed_mark
from fakes.memory import WORK, own_of, scoped
from fakes.postgresql import POSTGRESQL
from fakes.statements import store_fact

from orchestrator.channel_api import InboundMessage
from orchestrator.errors import OrchestratorError
from orchestrator.extensions.erasure import erasure
from orchestrator.extensions.erasure.erasure import TABLES, Subject
from orchestrator.extensions.memory import due_sessions, fact_changes, fact_reads, profile_changes
from orchestrator.extensions.memory.fact_changes import Statement
from orchestrator.extensions.memory.fact_lines import format_fact_line
from orchestrator.extensions.memory.message_vectors import shorten_vector
from orchestrator.journal.db import audit
from orchestrator.journal.db.database import Connection, Database
from orchestrator.journal.inspect import invariants
from orchestrator.journal.memory import facts, profile
from orchestrator.journal.memory.memory_scope import MemoryScope
from orchestrator.journal.schedule import tasks
from orchestrator.journal.turns import inbox, outbox, prompt_records, turns
from orchestrator.journal.turns.inbox import Arrival
from orchestrator.journal.turns.outbox import Address
from orchestrator.journal.turns.prompt_records import SentPrompt
from orchestrator.schedules.specs import TaskSpec
from thinker.protocol.messages import LayerRecord, ToolResult, UserMessage
from thinker.protocol.prompt_record import PromptRecord

ZEBRA, OTTER = "zebra", "otter"
CHAT, OTHER = "471147114711", "581258125812"
LOGINS = {"web_session", "web_invite"}  # of people, not of a chat
CONVERSATIONS = {"conversation", "conversation_item"}  # of clients of the API
NAMES = (
    "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
    if POSTGRESQL
    else "SELECT name FROM sqlite_master WHERE type = 'table' AND sql IS NOT NULL"
)
OF_AGENTS = {"profile", "playbook_seed", "pause", "model_call", "request"} | LOGINS | CONVERSATIONS


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    """A journal under a fresh epoch of 1."""
    with opened(tmp_path) as connection:
        with job(connection):
            turns.boot(connection, 0)
        yield connection


def mentions(db: Database, *words: str) -> set[tuple[str, str]]:
    """Tables and columns, those of indexes too, in which any of the words stands."""
    found = set()
    for (table,) in db.execute(NAMES).fetchall():
        cursor = db.execute(f"SELECT * FROM {table}")  # noqa: S608 - names of the schema
        for row in cursor:
            cells = zip((name for name, *_ in cursor.description), row, strict=True)
            for column, cell in cells:
                data = cell if isinstance(cell, bytes) else str(cell).encode()
                if any(word.encode() in data for word in words):
                    found.add((str(table), str(column)))
    return found


def dump(db: Database, word: str) -> list[str]:
    """Every row of the journal's own tables that has a word in it, but the audit log's."""
    return sorted(
        f"{table} {row}"
        for table in {table for table, _ in TABLES} | {"media", "prompt_part"}
        for row in db.execute(f"SELECT * FROM {table}")  # noqa: S608 - names of the schema
        if word in str(row)
    )


def test_forgotten_chat_leaves_nothing_and_takes_nothing_else_along(db: Database) -> None:
    """What was learned there goes too; the agent, its other chat and its costs stay."""
    Life(db, "work", CHAT, ZEBRA).live()
    Life(db, "work", OTHER, OTTER).live()
    before = dump(db, OTTER)
    subject = Subject(channel="telegram", chat=CHAT)
    with job(db):
        erasure.forget(db, Subject(channel="api", chat=f"req-{ZEBRA}"), 20)
        known = erasure.count_subject_rows(db, subject)
        assert {table for table, _ in TABLES} - set(known) == OF_AGENTS
        calls = db.execute("SELECT count(*), sum(prompt) FROM model_call").fetchall()
        erasure.forget(db, subject, 20)
        assert erasure.count_subject_rows(db, subject) == {}
    assert mentions(db, CHAT, ZEBRA) == set()
    assert dump(db, OTTER) != []
    assert [row for row in dump(db, OTTER) if not row.startswith("profile ")] == [
        row for row in before if not row.startswith("profile ")
    ]
    assert profile.load_profile(db, WORK) == {"pets": {OTTER: OTTER}}
    assert db.execute("SELECT count(*), sum(prompt) FROM model_call").fetchall() == calls
    assert invariants.check_invariants(db) == []
    assert audit.find_broken_entry(db) is None
    ((act, numbers),) = db.execute("SELECT act, object FROM audit ORDER BY id DESC LIMIT 1")
    assert act == "forgot a chat"
    assert f"inbox {known['inbox']}" in str(numbers)


@pytest.mark.skipif(bool(POSTGRESQL), reason="about SQLite's file")
def test_forgotten_chat_is_overwritten_in_the_file(db: Connection, tmp_path: Path) -> None:
    """Not even those who can read the file find a word of it."""
    Life(db, "work", CHAT, ZEBRA).live()
    vector = shorten_vector(embed_mark(ZEBRA))
    assert db.execute("SELECT DISTINCT vector FROM message_vector").get == vector
    with job(db):
        erasure.forget(db, Subject(channel="api", chat=f"req-{ZEBRA}"), 20)
        erasure.forget(db, Subject(channel="telegram", chat=CHAT), 20)
    db.close()
    data = (tmp_path / "journal.db").read_bytes()
    assert vector not in data
    assert f"I am {ZEBRA}".encode() not in data
    assert f"answer of {ZEBRA}".encode() not in data


def test_chat_that_moved_is_forgotten_by_either_id(db: Database) -> None:
    """Its rows have the first id; people may know the new one alone."""
    Life(db, "work", CHAT, ZEBRA).live()
    with job(db):
        erasure.forget(db, Subject(channel="api", chat=f"req-{ZEBRA}"), 20)
        erasure.forget(db, Subject(channel="telegram", chat=f"-100{CHAT}"), 20)
    assert mentions(db, CHAT, ZEBRA) == set()


def test_forgotten_agent_leaves_nothing_and_takes_nothing_else_along(db: Database) -> None:
    """Not its id in any row; another agent keeps all that it has."""
    Life(db, "zoroaster", CHAT, ZEBRA).live()
    Life(db, "work", OTHER, OTTER).live()
    before = dump(db, OTTER)
    subject = Subject(agent="zoroaster")
    with job(db):
        known = erasure.count_subject_rows(db, subject)
        assert {table for table, _ in TABLES} - set(known) == {
            "pairing",
            "chat_move",
            "held",
        } | LOGINS
        erasure.forget(db, subject, 20)
        erasure.forget(db, Subject(channel="telegram", chat=CHAT), 21)  # its pairing, notices
    assert mentions(db, "zoroaster", CHAT, ZEBRA) == set()
    assert dump(db, OTTER) == before
    assert invariants.check_invariants(db) == []


def test_facts_of_a_forgotten_agent_leave_a_chat_that_another_has_served(db: Database) -> None:
    """The daemon's notices and lists, and what was searched; the other's own facts stay."""
    Life(db, "zoroaster", CHAT, ZEBRA).live()
    Life(db, "work", CHAT, OTTER).live()
    memory = MemoryScope.for_whole_agent("zoroaster")
    with job(db):
        told = store_fact(db, memory, CAT, source="elsewhere", now=9)
        kept = store_fact(db, WORK, "The dog is called Rex", source="elsewhere", now=9)
        private = MemoryScope("zoroaster", f"telegram:{CHAT}", joined=False, shared=False)
        store_fact(db, private, "Ann", source="elsewhere", now=9)
        address = Address("telegram", "1", CHAT)
        for known in (memory, private, WORK):
            listed = fact_reads.list_newest_facts(db, known, None, 99, 9)
            lines = [format_fact_line(fact, "UTC") for fact in listed]
            outbox.add_notice(db, address, "\n".join(["What I know here:", *lines]), 9)
        outbox.add_notice(db, address, f"Remembered: {CAT} · /memory undo {told.id}", 9)
        for number, words in enumerate(("Zora", f"forget {told.id}")):
            message = InboundMessage(
                channel="telegram",
                bot_id="1",
                chat_id=CHAT,
                message_id=f"c{number}",
                sender_id=CHAT,
                text=f"/memory {words}",
            )
            inbox.ingest(db, [Arrival(message, command=lambda _: "Yes.")], None, 9)
    with job(db):
        assert {table for table, _ in mentions(db, "Zora")} >= {"fact", "outbox", "inbox"}
        erasure.forget(db, Subject(agent="zoroaster"), 20)
        assert store_fact(db, WORK, "The cow is called Moo").id > told.id + 2
    assert mentions(db, "Zora", "- Ann (") == set()
    assert ("outbox", "body") in mentions(db, "The dog is called Rex")
    assert facts.find_fact(db, WORK, kept.id) is not None


def test_logins_for_a_forgotten_agent_go_and_those_for_others_stay(db: Database) -> None:
    """A chat has none, and a login for every agent names none."""
    for digest, agents in (("a", '["home","work"]'), ("b", '["home"]'), ("c", None)):
        db.execute(
            'INSERT INTO web_session(digest, "user", role, agents, made_at, last_at, ends_at)'
            " VALUES(?,'ann','chat',?,1,1,9)",
            (digest, agents),
        )
        db.execute("INSERT INTO web_invite VALUES(?,'ann','chat',?,9,NULL)", (digest, agents))
    with job(db):
        assert erasure.count_subject_rows(db, Subject(channel="telegram", chat="7")) == {}
        erasure.forget(db, Subject(agent="work"), 2)
    for table in LOGINS:
        kept = db.execute(f"SELECT digest FROM {table} ORDER BY 1").fetchall()  # noqa: S608 - names of the schema
        assert kept == [("b",), ("c",)]


def test_what_is_being_answered_is_not_forgotten(db: Database) -> None:
    """The message says what to do; nothing was removed."""
    open_turn(db)
    for subject in (Subject(agent="work"), Subject(channel="telegram", chat="7")):
        with pytest.raises(OrchestratorError, match="end it with /stop, then try again"), job(db):
            erasure.forget(db, subject, 1)
        assert erasure.count_subject_rows(db, subject)["turn"] == 1


def test_messages_that_nobody_has_begun_with_are_forgotten(db: Database) -> None:
    """As is a chat that only asked to be let in; one that never was is no chat."""
    receive(db, update(1, "still to be answered", "8"))
    with job(db):
        erasure.forget(db, Subject(channel="telegram", chat="8"), 1)
        with pytest.raises(OrchestratorError, match="no data of chat telegram:8"):
            erasure.forget(db, Subject(channel="telegram", chat="8"), 2)


def test_everything_of_a_chat_is_handed_out(db: Database) -> None:
    """Each row with its table, as many as would be forgotten."""
    Life(db, "work", CHAT, ZEBRA).live()
    subject = Subject(channel="telegram", chat=CHAT)
    with job(db):
        rows = list(erasure.export_rows(db, subject))
        known = erasure.count_subject_rows(db, subject)
    assert {table: sum(row["table"] == table for row in rows) for table in known} == known
    assert any(row["table"] == "inbox" and row["text"] == f"I am {ZEBRA}" for row in rows)


def test_upkeep_of_a_session_that_was_forgotten_finds_nothing(db: Database) -> None:
    """It may have been planned before."""
    assert due_sessions.find_compaction_input(db, 99, 1) is None
    assert due_sessions.find_unextracted_range(db, 99, 1, scoped) is None


def test_memory_of_a_forgotten_chat_goes_whoever_wrote_it(db: Database) -> None:
    """Facts, profile, playbooks and tasks; those of the user of an HTTP client likewise."""
    spec = TaskSpec(name="t", instructions="x", trigger={"interval_minutes": 5}, timezone="UTC")
    with job(db):
        for chat in ("telegram:8", "api:ann", "telegram:9"):
            memory = own_of(chat)
            store_fact(db, memory, f"Fact of {chat}", "background", "elsewhere", 1)
            profile_changes.update_profile(db, memory, "name", f"Name of {chat}", "elsewhere", 1)
            tasks.add_task(db, memory, spec, 1)
        erasure.forget(db, Subject(channel="telegram", chat="8"), 2)
        erasure.forget(db, Subject(channel="api", chat="ann"), 2)
    assert mentions(db, "telegram:8", "api:ann") == set()
    assert profile.load_profile(db, own_of("telegram:9")) == {"name": "Name of telegram:9"}
    assert len(tasks.list_tasks(db)) == 1


CAT = 'The cat\'s name is "Zora" & she is nine.'


def show_fact(db: Database) -> None:
    """Let a chat be shown the fact in a layer, with its message, and by a tool; and cite it."""
    line = f"- {CAT} (background)"
    layers = (LayerRecord(name="memories", text=line, volatile=True),)
    told = ToolResult(call_id="c", name="search_memories", content=f"- {CAT} (background, id 1)")
    record = PromptRecord(layers=layers, layout="cached")
    (session,) = db.execute("SELECT max(id) FROM session").fetchone()
    (turn,) = db.execute("SELECT id FROM turn WHERE session_id = ? LIMIT 1", (session,)).fetchone()
    prompt_records.record_prompt(db, SentPrompt(turn, 77, session, 1), record)
    for message in (UserMessage(content="and the cat?", context=layers), told):
        db.execute(
            "INSERT INTO message(session_id, turn_id, body, at) VALUES(?, ?, ?, 1)",
            (session, turn, message.model_dump_json()),
        )
    db.execute("UPDATE session SET summary = ? WHERE id = ?", (f"They said: {CAT}", session))


def test_fact_of_a_forgotten_chat_leaves_what_other_chats_were_shown(db: Database) -> None:
    """Their prompts, what goes along with each message, results of tools and summaries."""
    Life(db, "work", CHAT, ZEBRA).live()
    Life(db, "work", OTHER, OTTER).live()
    with job(db):
        (turn,) = db.execute("SELECT id FROM turn WHERE chat_key LIKE ?", (f"%{CHAT}%",)).fetchone()
        store_fact(db, WORK, CAT, "background", f"turn {turn}", 1)
        show_fact(db)
        assert {table for table, _ in mentions(db, "Zora")} >= {"turn_prompt", "message", "session"}
        erasure.forget(db, Subject(channel="telegram", chat=CHAT), 20)
    assert mentions(db, "Zora") == set()
    (body,) = db.execute("SELECT body FROM message WHERE body LIKE '%and the cat%'").fetchone()
    assert UserMessage.model_validate_json(body).context[0].text == "- (forgotten) (background)"


def test_short_name_of_a_forgotten_task_leaves_the_lists_of_other_chats(db: Database) -> None:
    """The list of tasks has the name alone, not the instructions."""
    Life(db, "work", CHAT, ZEBRA).live()
    Life(db, "work", OTHER, OTTER).live()
    spec = TaskSpec(name="Zora", instructions="x", trigger={"interval_minutes": 5}, timezone="UTC")
    with job(db):
        tasks.add_task(db, own_of(f"telegram:{CHAT}"), spec, 1)
        shown = "\n".join(map(tasks.format_task_line, tasks.list_tasks(db)))
        assert "Zora" in shown
        (session,) = db.execute("SELECT max(id) FROM session").fetchone()
        told = ToolResult(call_id="c", name="list_tasks", content=shown)
        db.execute(
            "INSERT INTO message(session_id, body, at) VALUES(?, ?, 1)",
            (session, told.model_dump_json()),
        )
        erasure.forget(db, Subject(channel="telegram", chat=CHAT), 20)
    assert mentions(db, "Zora") == set()


def test_fact_that_the_agent_knows_from_elsewhere_stays(db: Database) -> None:
    """Another chat has told the same."""
    Life(db, "work", CHAT, ZEBRA).live()
    Life(db, "work", OTHER, OTTER).live()
    with job(db):
        (turn,) = db.execute("SELECT id FROM turn WHERE chat_key LIKE ?", (f"%{CHAT}%",)).fetchone()
        store_fact(db, WORK, CAT, "background", f"turn {turn}", 1)
        store_fact(db, own_of(f"telegram:{OTHER}"), CAT, "background", "turn other", 1)
        show_fact(db)
        erasure.forget(db, Subject(channel="telegram", chat=CHAT), 20)
    assert {table for table, _ in mentions(db, "Zora")} >= {"turn_prompt", "message", "session"}


def test_edits_of_what_a_forgotten_chat_told_go_as_well(db: Database) -> None:
    """Of the operator or the user; what replaced it elsewhere stays, and points to no other."""
    Life(db, "work", CHAT, ZEBRA).live()
    Life(db, "work", OTHER, OTTER).live()
    with job(db):
        (turn,) = db.execute("SELECT id FROM turn WHERE chat_key LIKE ?", (f"%{CHAT}%",)).fetchone()
        told = store_fact(db, WORK, CAT, source=f"turn {turn}")
        edited = fact_changes.edit_fact(db, WORK, told.id, f"{CAT}, a tom", "operator", 2)
        fact_changes.edit_fact(db, WORK, edited.id, f"{CAT}, or was", "user", 3)
        other = store_fact(db, WORK, "The dog is called Rex")
        found = Statement("The dog is called Rax", "background", f"turn {turn}")
        fact_changes.replace_fact(db, WORK, other.id, found, 4)
        erasure.forget(db, Subject(channel="telegram", chat=CHAT), 20)
    assert mentions(db, "Zora") == set()
    (dog,) = fact_changes.list_history(db, WORK, other.id)
    assert (dog.fact, dog.ended_by) == ("The dog is called Rex", "operator")


def test_marks_of_what_was_forgotten_go_with_the_chat_that_told_it(db: Database) -> None:
    """Also where chats share their memory, and the operator forgot it."""
    Life(db, "work", CHAT, ZEBRA).live()
    Life(db, "work", OTHER, OTTER).live()
    with job(db):
        (turn,) = db.execute("SELECT id FROM turn WHERE chat_key LIKE ?", (f"%{CHAT}%",)).fetchone()
        told = store_fact(db, WORK, CAT, source=f"extraction {turn}..x")
        fact_changes.forget_fact(db, WORK, told.id, "operator", 2, for_good=True)
        found = Statement(CAT, "background", "extraction other..other")
        assert fact_changes.store_statement(db, WORK, found, 3) is None
        erasure.forget(db, Subject(channel="telegram", chat=CHAT), 20)
        scopes = db.execute("SELECT DISTINCT scope FROM fact_gone").fetchall()
        assert scopes == [(f"telegram:{OTHER}",)]
        assert fact_changes.store_statement(db, WORK, found, 21) is not None
