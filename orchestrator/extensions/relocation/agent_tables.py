"""What each table of the journal holds of one agent, and which of its values refer to other rows.

Every table is in exactly one of the four lists below, which a test holds against the schema. The
ids of an agent's rows are gathered in temporary tables first.
"""

import re
from collections.abc import Iterable

import orjson

from orchestrator.journal.db.database import Cursor, Database
from orchestrator.journal.turns import outbox, turns

MEMBERS = re.compile(r"\bIN (of_\w+)")
REF = re.compile(r'"ref":"([0-9a-f]{64})"')  # the reference to a picture in a message or a result
NUMBERS = ("of_task", "of_session", "of_inbox", "of_outbox", "of_approval", "of_trial", "of_pause")
# The ids of an agent's rows, in order: each query uses the ids gathered before it. Messages that
# wait come first: who answers them is decided by the bindings, so the caller says which they are.
GATHERED = (
    ("of_inbox", "SELECT CAST(value AS BIGINT) FROM json_each(:waiting) WHERE true"),
    ("of_task", "SELECT id FROM task WHERE agent_id = :agent"),
    ("of_subagent", "SELECT id FROM subagent WHERE agent_id = :agent"),
    ("of_queue", "SELECT 'subagent/' || id FROM of_subagent WHERE true"),
    (  # work of this agent as another one's subagent is the other one's
        "of_session",
        """SELECT id FROM session WHERE chat_key IN of_queue
          OR agent_id = :agent AND chat_key NOT LIKE 'subagent/%'""",
    ),
    ("of_turn", "SELECT id FROM turn WHERE session_id IN of_session"),
    (
        "of_inbox",
        """SELECT id FROM inbox WHERE turn_id IN of_turn OR chat_key IN of_queue
          OR turn_id IS NULL AND state <> 'new' AND chat_key NOT LIKE 'subagent/%'
            AND :agent IN(agent_id, target)
          OR id IN(SELECT inbox_id FROM task_run WHERE task_id IN of_task)""",
    ),
    ("of_approval", "SELECT id FROM approval WHERE turn_id IN of_turn"),
    (
        "of_outbox",
        "SELECT id FROM outbox WHERE turn_id IN of_turn OR approval_id IN of_approval",
    ),
    ("of_trial", "SELECT id FROM trial WHERE agent_id = :agent"),
    ("of_pause", "SELECT id FROM pause WHERE agent_id = :agent AND ended_at IS NOT NULL"),
    (
        "of_conversation",
        """SELECT DISTINCT conversation FROM request
          WHERE inbox_id IN of_inbox AND conversation IS NOT NULL""",
    ),
    (
        "of_part",
        """SELECT definition FROM turn_prompt WHERE turn_id IN of_turn AND definition IS NOT NULL
          UNION SELECT tools FROM turn_prompt WHERE turn_id IN of_turn AND tools IS NOT NULL
          UNION SELECT common FROM turn_prompt WHERE turn_id IN of_turn AND common IS NOT NULL
          UNION SELECT settings FROM turn_prompt WHERE turn_id IN of_turn
            AND settings IS NOT NULL""",
    ),
    (
        "of_media",
        """SELECT media_id FROM attachment WHERE inbox_id IN of_inbox AND media_id IS NOT NULL
          UNION SELECT media_id FROM tool_file WHERE turn_id IN of_turn
          UNION SELECT media_id FROM outbox WHERE id IN of_outbox AND media_id IS NOT NULL""",
    ),
)
# As above, without the ids of everything that the agent ever did: this is asked again and again.
OWN_TURN = """EXISTS(SELECT 1 FROM turn AS own JOIN session ON session.id = own.session_id
  WHERE own.id = {} AND (session.chat_key IN(
      SELECT 'subagent/' || id FROM subagent WHERE agent_id = :agent)
    OR session.agent_id = :agent AND session.chat_key NOT LIKE 'subagent/%'))"""
ASKED = "(SELECT approval.turn_id FROM approval WHERE approval.id = approval_id)"
RUNNING = f"""SELECT count(*) FROM turn
  WHERE {turns.OPEN} AND state = 'running' AND {OWN_TURN.format("turn.id")}"""
UNSENT = f"""SELECT count(*) FROM outbox
  WHERE {outbox.WAITING} AND {OWN_TURN.format(f"coalesce(turn_id, {ASKED})")}"""
SHOWN = """SELECT result FROM step WHERE turn_id IN of_turn AND instr(result, '"ref"') > 0
  UNION ALL SELECT body FROM message WHERE session_id IN of_session
    AND instr(body, '"ref"') > 0"""
HERE = """(channel, chat_id) IN(SELECT channel, chat_id FROM inbox WHERE id IN of_inbox
  UNION SELECT channel, chat_id FROM outbox WHERE id IN of_outbox)"""
# Rows of the agent alone, which are moved. A row comes after the rows that it refers to.
OF_AGENT: dict[str, str] = {
    "inbox": "id IN of_inbox",
    "attachment": "inbox_id IN of_inbox",
    "request": "inbox_id IN of_inbox",
    "session": "id IN of_session",
    "message": "session_id IN of_session",
    "turn": "id IN of_turn",
    "turn_prompt": "turn_id IN of_turn",
    "step": "turn_id IN of_turn",
    "tool_file": "turn_id IN of_turn",
    "degradation": "turn_id IN of_turn",
    "trial": "id IN of_trial",
    "trial_turn": "trial_id IN of_trial",
    "saved_turn": "turn_id IN of_turn",
    "approval": "id IN of_approval",
    "standing_approval": "agent_id = :agent",
    "call_verdict": "turn_id IN of_turn",
    "subagent": "id IN of_subagent",
    "subagent_run": "subagent_id IN of_subagent",
    "outbox": "id IN of_outbox",
    "model_call": "agent_id = :agent",
    "pause": "id IN of_pause",
    "pause_told": "pause_id IN of_pause",
    "fact": "agent_id = :agent",
    "fact_gone": "agent_id = :agent",
    "memory_card": "agent_id = :agent",
    "fact_vector": "agent_id = :agent",
    "message_vector": "agent_id = :agent",
    "profile": "agent_id = :agent",
    "profile_change": "agent_id = :agent",
    "playbook": "agent_id = :agent",
    "playbook_seed": "agent_id = :agent",
    "task": "id IN of_task",
    "task_run": "task_id IN of_task",
    "transition": """turn_id IN of_turn OR turn_id IS NULL
      AND (kind = 'inbox' AND number IN of_inbox OR kind = 'outbox' AND number IN of_outbox)""",
}
# Rows that others may use as well: copied, unless the target has them, and never taken back.
SHARED: dict[str, str] = {
    "media": "id IN of_media",
    "prompt_part": "digest IN of_part",
    "conversation": "id IN of_conversation",
    "conversation_item": "conversation_id IN of_conversation",
    "pairing": HERE,
    "chat_move": "(channel, old_id) IN(SELECT channel, chat_id FROM inbox WHERE id IN of_inbox)",
}
# What the daemon makes anew from the rows above.
DERIVED = ("message_place", "playbook_state", "search_scope")
# What belongs to a home and its people, and stays.
OF_HOME = (
    "meta",
    "audit",
    "channel_offset",
    "handoff",
    "held",
    "sent_spans",
    "tool_pin",
    "tool_list",
    "web_session",
    "web_invite",
)
# Before the first rows that refer to them.
ORDER = ("prompt_part", "media", "conversation", "conversation_item", "chat_move", "pairing")
TABLES = {**{name: SHARED[name] for name in ORDER}, **OF_AGENT}
SORTED = {"turn": "rowid", "step": "turn_id, seq", "transition": "id"}


class AgentRows:
    """The rows of one agent in a journal, whose transaction is open.

    ``waiting`` are the ids of messages that no turn has taken and that the agent would answer.
    """

    def __init__(self, db: Database, agent_id: str, waiting: Iterable[int] = ()) -> None:
        self._db = db
        self._values = {"agent": agent_id, "waiting": orjson.dumps([*waiting]).decode()}
        for name in {name for name, _ in GATHERED}:
            kind = "BIGINT" if name in NUMBERS else "TEXT"
            db.execute(f"CREATE TEMP TABLE IF NOT EXISTS {name}(id {kind} PRIMARY KEY)")
            db.execute(f"DELETE FROM {name}")
        for name, query in GATHERED:
            self.execute(f"INSERT INTO {name} {query} ON CONFLICT DO NOTHING")
        shown = [ref for (body,) in self.execute(SHOWN) for ref in REF.findall(str(body))]
        stored = "INSERT INTO of_media SELECT id FROM media WHERE id = ? ON CONFLICT DO NOTHING"
        db.executemany(stored, [(ref,) for ref in sorted(set(shown))])

    def execute(self, statement: str) -> Cursor:
        """Run a statement with ``IN of_x``, ``:agent`` and ``:waiting``."""
        sql = MEMBERS.sub(r"IN (SELECT id FROM \1)", statement)
        names = {name for name in self._values if f":{name}" in sql}
        return self._db.execute(sql, {name: self._values[name] for name in names})

    def count_rows(self) -> dict[str, int]:
        """Count the rows of each table, without empty tables."""
        counts = {
            table: int(self.execute(f"SELECT count(*) FROM {table} WHERE {where}").get)
            for table, where in TABLES.items()
        }
        return {table: rows for table, rows in counts.items() if rows}

    def select_table(self, table: str) -> Cursor:
        """Return the agent's rows of a table, in an order that is the same in every journal."""
        order = SORTED.get(table, "1, 2")
        return self.execute(f"SELECT * FROM {table} WHERE {TABLES[table]} ORDER BY {order}")

    def delete_rows(self) -> None:
        """Delete the agent's own rows, and keep those that others may use."""
        for table, where in reversed(OF_AGENT.items()):
            if table != "transition":
                self.execute(f"DELETE FROM {table} WHERE {where}")
        self.execute(f"DELETE FROM transition WHERE {OF_AGENT['transition']}")


def list_busy(db: Database, agent_id: str, *, live: bool) -> list[str]:
    """Return what has to end before an agent can leave; ``live``: its daemon runs.

    A turn that has replied has messages that are not delivered.
    """
    found, values = [], {"agent": agent_id}
    if live and (count := int(db.execute(RUNNING, values).get)):
        found.append(f"{count} turns are not at rest")
    if count := int(db.execute(UNSENT, values).get):
        found.append(f"{count} messages are not delivered")
    return found
