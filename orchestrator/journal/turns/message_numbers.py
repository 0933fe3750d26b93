"""The platform's numbers of messages, to find a message when sending it got no response.

A bot's private chats share a sequence of numbers; each group, whose id begins with a minus sign,
has another.
"""

from orchestrator.journal.db.database import Database
from orchestrator.journal.turns.outbox import OutboxRow

MAX_KNOWN = 2000  # newest messages received, and as many sent, whose numbers are left out
RECEIVED = (
    "SELECT channel, bot_id, chat_id, private, message_id FROM inbox"
    f" ORDER BY id DESC LIMIT {MAX_KNOWN}"
)
SENT = (
    "SELECT id, channel, bot_id, chat_id, coalesce(msg_id, ph_id) AS message_id FROM outbox"
    f" ORDER BY id DESC LIMIT {MAX_KNOWN}"
)
OF_BOT = "channel = :channel AND bot_id = :bot_id"


def find_number_before(db: Database, row: OutboxRow) -> int:
    """Return the number of a message shortly before a row's; 0 if none is known."""
    sql = (
        "SELECT * FROM (SELECT message_id FROM inbox"
        " WHERE id <= (SELECT max(id) FROM inbox WHERE turn_id = :turn_id) AND private = 1"
        " AND channel || '' = :channel AND bot_id = :bot_id AND update_id IS NOT NULL"
        " ORDER BY id DESC LIMIT 20) AS received UNION ALL SELECT * FROM"
        " (SELECT coalesce(msg_id, ph_id) FROM outbox WHERE chat_key = :chat_key AND id < :id"
        " AND id > :id - 1000 ORDER BY id DESC LIMIT 20) AS sent"
    )
    names = [str(name) for (name,) in db.execute(sql, vars(row))]
    return max((int(name) for name in names if name.isdecimal()), default=0)


def list_free_numbers(db: Database, row: OutboxRow, first: int, last: int) -> tuple[int, ...]:
    """Return the numbers from ``first`` to ``last`` that a row's message may have.

    No other message is known to have them. Of a long sequence only the beginning is returned.
    """
    received, sent = "private = 1", "chat_id NOT LIKE '-%'"
    if row.chat_id.startswith("-"):
        received = sent = "chat_id = :chat_id"
    sql = (
        f"SELECT message_id FROM ({RECEIVED}) AS received WHERE {OF_BOT} AND {received}"
        f" UNION ALL SELECT message_id FROM ({SENT}) AS sent"
        f" WHERE {OF_BOT} AND {sent} AND id <> :id"
    )
    taken = {str(name) for (name,) in db.execute(sql, vars(row))}
    end = min(last, first + 2 * MAX_KNOWN)
    return tuple(number for number in range(first, end + 1) if str(number) not in taken)
