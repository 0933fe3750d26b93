"""How much waits for a person: questions, chats, changed tools, dead letters, pauses, tasks."""

import apsw

from orchestrator.journal.access.tool_pins import LATER
from orchestrator.journal.turns.deadletters import DEAD

_COUNT = f"""SELECT
  (SELECT count(*) FROM approval WHERE state = 'pending' AND expires > ?1)
+ (SELECT count(*) FROM pairing WHERE state = 'pending' AND expires_at > ?1)
+ (SELECT count(*) FROM tool_pin WHERE changed IS NOT NULL OR by = '{LATER}')
+ (SELECT count(*) FROM inbox WHERE {DEAD})
+ (SELECT count(*) FROM pause WHERE ended_at IS NULL)
+ (SELECT count(*) FROM task WHERE state = 'disabled' AND failures > 0)"""


def count(db: apsw.Connection, now: int) -> int:
    """Return the number of things that wait for a person."""
    return int(db.execute(_COUNT, (now,)).get)
