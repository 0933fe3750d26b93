"""What an operator decides in the journal: a chat is refused, or let in again."""

from orchestrator.journal.access.pairing import REFUSED_FOR
from orchestrator.journal.db import audit
from orchestrator.journal.db.database import Database
from orchestrator.journal.turns import held_messages
from thinker.protocol.names import ChatName


def refuse_chat(db: Database, code: str, by: str, now: int) -> bool:
    """Refuse the chat with this code, which is not told, and may ask again after a day.

    Its messages stay unanswered, and their text is removed. False if no chat has the code.
    """
    row = db.execute(
        "UPDATE pairing SET state = 'revoked', code = NULL, decided_at = ?, expires_at = ?"
        " WHERE code = ? AND state = 'pending' RETURNING channel, chat_id",
        (now, now + REFUSED_FOR, code.upper()),
    ).fetchone()
    if row is None:
        return False
    chat = ChatName(str(row[0]), str(row[1]))
    held_messages.delete_held_texts(db, chat.channel, chat.chat_id)
    audit.record_decision(db, by, "pairing refused", str(chat), now)
    return True


def readmit_chat(db: Database, chat: ChatName, by: str, now: int) -> bool:
    """Let a refused or revoked chat write again, in the role to talk; False if no such chat is."""
    db.execute(
        "UPDATE pairing SET state = 'approved', role = 'talk', decided_at = ?"
        " WHERE channel = ? AND chat_id = ? AND state = 'revoked'",
        (now, chat.channel, chat.chat_id),
    )
    if not db.changes():
        return False
    audit.record_decision(db, by, "pairing restored", str(chat), now)
    return True
