"""Count what waits for a person: questions, chats, changed tools, dead letters, pauses, tasks."""

from orchestrator.extensions.page.reads import call_verdicts
from orchestrator.journal.access.tool_pins import LATER
from orchestrator.journal.db.database import Database
from orchestrator.journal.turns.deadletters import DEAD
from thinker.protocol.names import format_chat_name

_COUNT = f"""SELECT
  (SELECT count(*) FROM approval
    WHERE state = 'pending' AND expires > ?1 AND asked_with IS NULL)
+ (SELECT count(*) FROM pairing WHERE state = 'pending' AND expires_at > ?1)
+ (SELECT count(*) FROM tool_pin WHERE changed IS NOT NULL OR by = '{LATER}')
+ (SELECT count(*) FROM inbox WHERE {DEAD})
+ (SELECT count(*) FROM pause WHERE ended_at IS NULL)
+ (SELECT count(*) FROM task WHERE state = 'disabled' AND failures > 0)
+ (SELECT count(*) FROM step INDEXED BY step_unknown
    WHERE {call_verdicts.OPEN.replace("?", f"?1 - {call_verdicts.VERDICT_MS}")})"""


def count_waiting_items(db: Database, now: int) -> int:
    """Count the things that wait for a person."""
    return int(db.execute(_COUNT, (now,)).get)


def list_unconfirmed_messages(db: Database, limit: int) -> list[tuple[str, str]]:
    """Return the chat and text of each message whose delivery is unknown."""
    rows = db.execute(
        "SELECT chat_key, substr(body, 1, 500) FROM outbox WHERE state = 'unknown' LIMIT ?",
        (limit,),
    )
    return [(format_chat_name(str(key)), str(text)) for key, text in rows]
