"""Messages as searches show them."""

from dataclasses import dataclass

from orchestrator.journal.db.database import Rows
from thinker.protocol.messages import Origin


@dataclass(frozen=True)
class MessageHit:
    """A message of a user or of the agent (``assistant``); ``at`` in milliseconds."""

    id: int
    at: int
    role: str
    text: str
    chat_key: str
    origin: Origin = "user"
    turn_id: str | None = None


HITS = Rows(
    MessageHit,
    "said JOIN session ON session.id = session_id",
    "said.id, at, role, text, chat_key, ifnull("
    "(SELECT body ->> 'origin' FROM message WHERE message.id = said.id), 'user'),"
    " (SELECT turn_id FROM message WHERE message.id = said.id)",
)
