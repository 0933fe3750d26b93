"""Count what waits and what is in progress."""

from typing import NamedTuple

from orchestrator.journal.db.database import Database
from orchestrator.journal.turns.deadletters import DEAD
from orchestrator.journal.turns.outbox import OPEN
from orchestrator.journal.turns.turns import OPEN as OPEN_TURN

# Each part has a partial index, except claimed messages, which only open turns have.
LENGTHS = f"""SELECT
  (SELECT count(*) FROM inbox WHERE state = 'new'),
  (SELECT count(*) FROM turn CROSS JOIN inbox
    WHERE inbox.turn_id = turn.id AND turn.{OPEN_TURN} AND inbox.state = 'claimed'),
  (SELECT count(*) FROM inbox WHERE state IN('dead','cancelled') AND {DEAD}),
  (SELECT count(*) FROM outbox WHERE {OPEN}),
  (SELECT count(*) FROM approval
    WHERE state IN('pending','granted') AND state = 'pending' AND expires > ?),
  (SELECT count(*) FROM turn WHERE {OPEN_TURN} AND state = 'running'),
  (SELECT count(*) FROM turn WHERE {OPEN_TURN} AND state = 'waiting')"""


class QueueLengths(NamedTuple):
    """Messages in and out, questions to people, and open turns; ``dead`` letters wait too."""

    new: int
    claimed: int
    dead: int
    outgoing: int
    approvals: int
    running: int
    waiting: int


def load_queue_lengths(db: Database, now: int) -> QueueLengths:
    """Count the present lengths; ``now`` in milliseconds."""
    ((*lengths,),) = db.execute(LENGTHS, (now,))
    return QueueLengths(*map(int, lengths))
