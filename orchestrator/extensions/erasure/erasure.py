"""Erasure and export of all data of a chat or an agent (invariant 22).

The ids of all rows are gathered in temporary tables first; then the rows are counted, exported, or
removed in one transaction, so that a crash leaves all or none of them. Erasing a chat also erases
the facts and playbooks learned in it, and these from what other chats were shown; its token counts
are kept without their turns. Erasing an agent erases all its data.

Where: is all data of a chat deleted?
"""

import re
from collections.abc import Collection, Iterator
from dataclasses import asdict, dataclass
from functools import partial

import orjson

from orchestrator.errors import OrchestratorError
from orchestrator.extensions.erasure import learned_texts
from orchestrator.journal.db import audit
from orchestrator.journal.db.database import Cursor, Database
from orchestrator.journal.db.dialect import get_dialect
from orchestrator.journal.memory import profile
from orchestrator.journal.memory.memory_scope import MemoryScope
from orchestrator.journal.turns import inbox, prompt_records, shown_texts
from orchestrator.journal.turns.shown_texts import FORGOTTEN
from thinker.protocol.messages import JsonObject

# Membership in a table, in SQLite's short form.
MEMBERS = re.compile(r"\bIN (gone_\w+)")
REF = re.compile(r'"ref":"([0-9a-f]{64})"')  # the reference to a picture in a message or a result
HERE = "channel = :channel AND chat_id IN gone_chat"
NOTIFIED = "spec ->> '$.notify.channel' = :channel AND spec ->> '$.notify.chat_id' IN gone_chat"
ALLOWED = """instr(agents, '"' || :agent || '"') > 0"""  # in an array of names
MOVED = "channel = :channel AND :chat IN(old_id, new_id)"
# Searches of the memory, in chats that the agent has served; nothing tells which agent answered.
ASKED = f"""CAST(:agent AS TEXT) IS NOT NULL AND kind = '{inbox.COMMAND}'
  AND lower(text) LIKE '%/memory%' AND chat_key IN(
    SELECT chat_key FROM session WHERE id IN gone_session)"""
LEARNED = (
    "source IN(SELECT 'turn ' || id FROM gone_turn) OR source LIKE 'extraction %'"
    " AND substr(source, 12, CAST(max(0, instr(source, '..') - 12) AS INTEGER)) IN gone_turn"
)
NUMBERS = (
    "gone_fact",
    "gone_task",
    "gone_session",
    "gone_inbox",
    "gone_outbox",
    "gone_trial",
)  # the other ids are strings
# The ids to remove, in order: each query uses the ids gathered before it.
GATHERED = (
    ("gone_chat", "SELECT CAST(:chat AS TEXT) WHERE CAST(:chat AS TEXT) IS NOT NULL"),
    ("gone_chat", f"SELECT old_id FROM chat_move WHERE {MOVED}"),
    ("gone_chat", f"SELECT new_id FROM chat_move WHERE {MOVED}"),
    ("gone_scope", "SELECT :channel || ':' || id FROM gone_chat WHERE true"),
    (
        "gone_task",
        f"SELECT id FROM task WHERE agent_id = :agent OR scope IN gone_scope OR {NOTIFIED}",
    ),
    ("gone_key", f"SELECT chat_key FROM inbox WHERE {HERE}"),
    ("gone_key", f"SELECT {inbox.CHAT} FROM inbox WHERE {HERE}"),
    ("gone_key", f"SELECT chat_key FROM outbox WHERE {HERE}"),
    ("gone_key", "SELECT 'task/' || agent_id || '/' || id FROM task WHERE id IN gone_task"),
    ("gone_key", "SELECT 'subagent/' || id FROM subagent WHERE agent_id = :agent"),
    (
        "gone_session",
        """SELECT id FROM session WHERE agent_id = :agent OR chat_key IN gone_key
          OR scope IN gone_scope""",
    ),
    (
        "gone_turn",
        """SELECT id FROM turn WHERE agent_id = :agent OR session_id IN gone_session
          OR scope IN gone_scope""",
    ),
    ("gone_turn", f"SELECT turn_id FROM inbox WHERE {HERE} AND turn_id IS NOT NULL"),
    (
        "gone_turn",
        "SELECT turn_id FROM message WHERE session_id IN gone_session AND turn_id IS NOT NULL",
    ),
    (
        "gone_inbox",
        f"""SELECT id FROM inbox WHERE {HERE} OR :agent IN(agent_id, target)
          OR turn_id IN gone_turn OR {ASKED}
          OR id IN(SELECT inbox_id FROM task_run WHERE task_id IN gone_task)
          OR id IN(SELECT inbox_id FROM subagent_run WHERE turn_id IN gone_turn)""",
    ),
    ("gone_turn", "SELECT turn_id FROM inbox WHERE id IN gone_inbox AND turn_id IS NOT NULL"),
    (
        "gone_outbox",
        f"""SELECT id FROM outbox WHERE {HERE} OR turn_id IN gone_turn
          OR turn_id IS NULL AND instr(body, '''' || :agent || '''') > 0""",
    ),
    (
        "gone_fact",
        f"SELECT id FROM fact WHERE agent_id = :agent OR scope IN gone_scope OR {LEARNED}",
    ),
    (  # what people have made of these by editing them
        "gone_fact",
        """WITH RECURSIVE edited(id) AS (SELECT id FROM gone_fact UNION SELECT fact.id FROM edited
          JOIN fact AS old ON old.id = edited.id
          JOIN fact ON old.ended_by = 'fact ' || fact.id AND fact.source IN('user','operator'))
          SELECT id FROM edited WHERE true""",
    ),
    (  # what is changed in a trial may quote any of its turns
        "gone_trial",
        """SELECT id FROM trial WHERE agent_id = :agent
          OR id IN(SELECT trial_id FROM trial_turn WHERE turn_id IN gone_turn)""",
    ),
    (
        "gone_subagent",
        """SELECT id FROM subagent WHERE :agent IN(agent_id, spec ->> '$.agent')
          OR chat_key IN gone_key UNION SELECT subagent_id FROM subagent_run
          WHERE turn_id IN gone_turn OR inbox_id IN gone_inbox""",
    ),
)
FACTS = "SELECT fact FROM fact WHERE id IN gone_fact"
REQUESTS = "SELECT id FROM request WHERE inbox_id IN gone_inbox"
CONVERSATIONS = """SELECT conversation FROM request WHERE inbox_id IN gone_inbox
  AND NOT EXISTS(SELECT 1 FROM request AS other WHERE other.conversation = request.conversation
    AND other.inbox_id NOT IN gone_inbox)"""
UNUSED = """scope <> '' AND (agent_id, scope) IN(
    SELECT agent_id, scope FROM session WHERE id IN gone_session)
  AND (agent_id, scope) NOT IN(SELECT agent_id, scope FROM session WHERE id NOT IN gone_session)"""
# What goes on from a forgotten conversation keeps its own messages.
ORPHANED = "UPDATE session SET parent_id = NULL, parent_upto = NULL WHERE parent_id IN gone_session"
# The rows to remove of each table; a row comes after the rows that refer to it.
TABLES = (
    ("approval", "turn_id IN gone_turn"),
    ("standing_approval", "agent_id = :agent OR chat_key IN gone_key"),
    (
        "subagent_run",
        "turn_id IN gone_turn OR inbox_id IN gone_inbox OR subagent_id IN gone_subagent",
    ),
    ("subagent", "id IN gone_subagent"),
    ("task_run", "task_id IN gone_task OR inbox_id IN gone_inbox"),
    ("task", "id IN gone_task"),
    ("attachment", "inbox_id IN gone_inbox"),
    ("tool_file", "turn_id IN gone_turn"),
    ("conversation_item", f"request_id IN({REQUESTS}) OR conversation_id IN({CONVERSATIONS})"),
    ("conversation", f"id IN({CONVERSATIONS})"),
    ("request", "inbox_id IN gone_inbox"),
    ("held", "inbox_id IN gone_inbox"),
    ("handoff", "chat_key IN gone_key OR turn_id IN gone_turn OR :agent IN(agent_id, routed_id)"),
    ("outbox", "id IN gone_outbox"),
    ("inbox", "id IN gone_inbox"),
    ("step", "turn_id IN gone_turn"),
    ("degradation", "turn_id IN gone_turn"),
    ("turn_prompt", "turn_id IN gone_turn"),
    ("saved_turn", "turn_id IN gone_turn"),
    ("trial_turn", "turn_id IN gone_turn OR trial_id IN gone_trial"),
    ("trial", "id IN gone_trial"),
    (
        "message",
        "session_id IN gone_session OR CAST(:agent AS TEXT) IS NULL AND turn_id IN gone_turn",
    ),
    ("turn", "id IN gone_turn"),
    ("search_scope", f"agent_id = :agent OR scope IN gone_scope OR {UNUSED}"),
    ("session", "id IN gone_session"),
    ("fact", "id IN gone_fact"),
    ("fact_gone", "agent_id = :agent OR scope IN gone_scope"),
    ("memory_card", "agent_id = :agent OR scope IN gone_scope"),
    ("profile_change", f"agent_id = :agent OR scope IN gone_scope OR {LEARNED}"),
    ("profile", "agent_id = :agent OR scope IN gone_scope"),
    ("playbook", f"agent_id = :agent OR scope IN gone_scope OR {LEARNED}"),
    ("playbook_seed", "agent_id = :agent"),
    (
        "pause_told",
        "chat_key IN gone_key OR pause_id IN(SELECT id FROM pause WHERE agent_id = :agent)",
    ),
    ("pause", "agent_id = :agent"),
    ("model_call", "agent_id = :agent"),
    ("pairing", HERE),
    ("web_session", ALLOWED),
    ("web_invite", ALLOWED),
    ("chat_move", "channel = :channel AND old_id IN gone_chat"),
    (  # last: triggers write into it with every change above
        "transition",
        """turn_id IN gone_turn OR kind = 'inbox' AND number IN gone_inbox
          OR kind = 'outbox' AND number IN gone_outbox""",
    ),
)
BUSY = """SELECT 1 FROM turn WHERE id IN gone_turn AND state IN('running','waiting','replied')
UNION ALL SELECT 1 FROM outbox WHERE id IN gone_outbox AND state IN('sending','ph_sending')"""


@dataclass(frozen=True)
class Subject:
    """The subject of an erasure: an agent, or a chat of a channel; other fields are None."""

    agent: str | None = None
    channel: str | None = None
    chat: str | None = None

    def __str__(self) -> str:
        return f"agent {self.agent}" if self.agent else f"chat {self.channel}:{self.chat}"


def count_subject_rows(db: Database, subject: Subject) -> dict[str, int]:
    """Count a subject's rows in each table, without empty tables."""
    _gather_ids(db, subject)
    counts = {
        table: int(_execute_on_ids(db, f"SELECT count(*) FROM {table} WHERE {where}", subject).get)
        for table, where in TABLES
    }
    return {table: rows for table, rows in counts.items() if rows}


def list_scopes(db: Database, subject: Subject) -> list[str]:
    """List the parts of the memory that belong to a chat alone, also by its earlier id."""
    _gather_ids(db, subject)
    return [str(scope) for (scope,) in db.execute("SELECT id FROM gone_scope ORDER BY id")]


def export_rows(db: Database, subject: Subject) -> Iterator[JsonObject]:
    """Yield all rows of a subject, with the names of their tables."""
    _gather_ids(db, subject)
    for table, where in TABLES:
        cursor = _execute_on_ids(db, f"SELECT * FROM {table} WHERE {where}", subject)
        for row in cursor:
            names = [name for name, *_ in cursor.description]
            values = dict(zip(names, row, strict=True))
            values.pop("rowid", None)  # a column of only PostgreSQL's tables
            yield {"table": table, **values}


def forget(db: Database, subject: Subject, now: int) -> None:
    """Remove all data of a subject and record the numbers of rows in the audit log.

    Raises:
        OrchestratorError: the subject is being answered, or the journal has no data of it.
    """
    get_dialect(db).exclude_daemons(db)  # another node could open a turn in a chat meanwhile
    found = count_subject_rows(db, subject)
    if _execute_on_ids(db, BUSY).get is not None:
        raise OrchestratorError(
            f"{subject} is being answered; wait for the answer or end it with /stop, then try again"
        )
    if not found:
        raise OrchestratorError(f"the journal has no data of {subject}")
    pictures = _list_pictures(db)
    names = _list_audit_names(db, subject)
    facts = {str(fact) for (fact,) in _execute_on_ids(db, FACTS)}
    told = learned_texts.collect_learned_texts(db, partial(_execute_on_ids, db), LEARNED)
    with get_dialect(db).wipe_deleted_rows(db):
        _unlearn_profile_values(db)
        _execute_on_ids(db, "UPDATE model_call SET turn_id = NULL WHERE turn_id IN gone_turn")
        db.execute(
            "UPDATE fact SET ended_by = 'operator'"
            " WHERE ended_by IN(SELECT 'fact ' || id FROM gone_fact)"
        )
        _execute_on_ids(db, ORPHANED)
        for table, where in TABLES:
            _execute_on_ids(db, f"DELETE FROM {table} WHERE {where}", subject)
        if subject.agent:  # else only notices have its facts, in chats of other agents too
            shown_texts.blank_shown_texts(db, subject.agent, facts)
        else:
            told.blank_elsewhere(db)
        prompt_records.delete_unused_parts(db)
        for picture in pictures - _list_pictures(db, "NOT"):
            db.execute("DELETE FROM media WHERE id = ?", (picture,))
    _erase_names(db, names)
    kind = "an agent" if subject.agent else "a chat"
    numbers = ", ".join(f"{table} {rows}" for table, rows in found.items())
    audit.record_decision(db, "operator", f"forgot {kind}", numbers, now)
    _clear_id_tables(db)


def _gather_ids(db: Database, subject: Subject) -> None:
    _clear_id_tables(db)
    for name, query in GATHERED:
        _execute_on_ids(db, f"INSERT INTO {name} {query} ON CONFLICT DO NOTHING", subject)


def _clear_id_tables(db: Database) -> None:
    for name in {name for name, _ in GATHERED}:
        kind = "BIGINT" if name in NUMBERS else "TEXT"
        db.execute(f"CREATE TEMP TABLE IF NOT EXISTS {name}(id {kind} PRIMARY KEY)")
        db.execute(f"DELETE FROM {name}")


def _execute_on_ids(db: Database, statement: str, subject: Subject | None = None) -> Cursor:
    """Run a statement with ``IN gone_x``."""
    sql = MEMBERS.sub(r"IN (SELECT id FROM \1)", statement)
    return db.execute(sql, asdict(subject) if subject else ())


def _list_pictures(db: Database, negated: str = "") -> set[str]:
    """Return the files and pictures of the rows to remove, or (``NOT``) of all others."""
    kept = _execute_on_ids(
        db,
        "SELECT media_id FROM attachment WHERE media_id IS NOT NULL"
        f" AND inbox_id {negated} IN gone_inbox"
        f" UNION ALL SELECT media_id FROM tool_file WHERE turn_id {negated} IN gone_turn"
        " UNION ALL SELECT media_id FROM outbox WHERE media_id IS NOT NULL"
        f" AND id {negated} IN gone_outbox",
    )
    bodies = _execute_on_ids(
        db,
        f"SELECT result FROM step WHERE turn_id {negated} IN gone_turn"
        " AND instr(result, '\"ref\"') > 0"
        f" UNION ALL SELECT body FROM message WHERE session_id {negated} IN gone_session"
        " AND instr(body, '\"ref\"') > 0",
    )
    shown = {ref for (body,) in bodies for ref in REF.findall(str(body))}
    return shown | {str(ref) for (ref,) in kept}


def _list_audit_names(db: Database, subject: Subject) -> frozenset[str]:
    rows = db.execute("""SELECT 'inbox ' || id FROM gone_inbox UNION SELECT 'turn ' || id
      FROM gone_turn UNION SELECT 'task ' || id FROM gone_task UNION SELECT id FROM gone_turn""")
    names = {str(name) for (name,) in rows}
    if subject.agent:
        return frozenset({*names, f"agent {subject.agent}"})
    chats = [str(chat) for (chat,) in db.execute("SELECT id FROM gone_chat")]
    return frozenset(
        {*names, *(f"{subject.channel}{sign}{chat}" for chat in chats for sign in "/:")}
    )


def _unlearn_profile_values(db: Database) -> None:
    """Remove unchanged values that a chat has set from agents' profiles."""
    rows = _execute_on_ids(
        db,
        f"SELECT agent_id, scope, path, after FROM profile_change WHERE {LEARNED} ORDER BY id DESC",
    )
    for agent_id, scope, path, after in rows.fetchall():
        if after is not None:
            memory = MemoryScope(str(agent_id), str(scope), joined=False, shared=False)
            _remove_unchanged_field(db, memory, str(path), str(after))


def _remove_unchanged_field(db: Database, memory: MemoryScope, path: str, value: str) -> None:
    """Remove the field at a path without history, if its value (JSON) is unchanged."""
    fields, keys = profile.load_profile(db, memory), profile.parse_path(path)
    held = profile.get_value(fields, keys)
    if held is None or orjson.dumps(held).decode() != value:
        return
    place = profile.get_value(fields, keys[:-1])
    if isinstance(place, dict):
        del place[str(keys[-1])]
    elif isinstance(place, list):
        del place[int(keys[-1])]
    sql = "UPDATE profile SET body = ? WHERE agent_id = ? AND scope = ?"
    db.execute(sql, (orjson.dumps(fields).decode(), memory.agent_id, memory.own_scope))


def _erase_names(db: Database, names: Collection[str]) -> None:
    """Remove names from the entries by or about them, and compute the hash chain anew.

    The kind and the time of each decision are kept.
    """
    previous = ""
    entries = db.execute("SELECT id, at, actor, act, object FROM audit ORDER BY id").fetchall()
    for row, at, *words in entries:
        actor, act, subject = map(str, words)
        if subject in names or subject.partition(":")[0] in names:
            act, subject = act.partition(":")[0], FORGOTTEN
        actor = FORGOTTEN if actor in names else actor
        digest = audit.hash_entry(previous, at, actor, act, subject)
        db.execute(
            "UPDATE audit SET actor = ?, act = ?, object = ?, prev_hash = ?, hash = ? WHERE id = ?",
            (actor, act, subject, previous, digest, row),
        )
        previous = digest
