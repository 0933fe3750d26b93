"""Messages from the daemon to an agent, and messages that enter a running turn."""

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from orchestrator.channel_api import InboundMessage
from orchestrator.journal.db.database import Database
from orchestrator.journal.db.store import FencedError
from orchestrator.journal.turns import attachments, inbox, taint, turns
from orchestrator.journal.turns.inbox import Arrival, InboxRow
from orchestrator.journal.turns.outbox import Address
from orchestrator.journal.turns.turns import Turn
from orchestrator.journal.turns.waiting_messages import lock_waiting_messages
from thinker.protocol.messages import UNTRUSTED, Origin, UserMessage


class InternalMessage(NamedTuple):
    """A message from the daemon to an agent.

    ``kind`` is one of `inbox.INTERNAL`; ``sender`` names the task, subagent or agent it is about.
    ``origin`` is whose words the text may contain.
    """

    kind: str
    message_id: str
    sender: str
    agent_id: str
    text: str
    origin: Origin = "user"


def post(
    db: Database,
    address: Address,
    message: InternalMessage,
    now: int,
    queue: str | None = None,
) -> int | None:
    """Put a message into a queue (default: the chat's); its answer goes to the chat.

    Returns the inbox id, or None if the message was posted before.
    """
    inbound = InboundMessage(
        channel=address.channel,
        bot_id=address.bot_id,
        chat_id=address.chat_id,
        thread_id=address.thread_id,
        private=address.private,
        message_id=message.message_id,
        sender_id="orchestrator",
        sender_name=message.sender,
        text=message.text,
        kind=message.kind,
        target=message.agent_id,
        origin=message.origin,
    )
    return inbox.store_arrival(db, Arrival(inbound), now, queue)


def post_into_turn(db: Database, turn: Turn, message: InternalMessage, now: int) -> None:
    """Post a message and make it part of a turn, after the turn's last model response."""
    row = post(db, turns.load_opening_message(db, turn.id).build_address(), message, now)
    step = db.execute(
        "SELECT max(seq) FROM step WHERE turn_id = ? AND kind = 'model'", (turn.id,)
    ).get
    if row is not None:
        _claim_message(db, turn, int(step or 0), row, message.origin)


def enter_new_messages(
    db: Database, turn: Turn, takes: Callable[[InboxRow], bool]
) -> tuple[UserMessage, ...]:
    """Add a chat's new messages to its turn, after the last model response.

    ``takes`` returns whether the turn's agent answers a message. The first message that it does
    not answer waits for the next turn, with all messages after it.

    Raises:
        FencedError: another process runs the turn, or it has no model response yet.
    """
    step = db.execute(
        "SELECT max(seq) FROM step JOIN turn ON turn.id = turn_id WHERE turn_id = ?"
        " AND kind = 'model' AND turn.epoch = ? AND turn.state = 'running'",
        (turn.id, turn.epoch),
    ).get
    if step is None:
        raise FencedError(f"turn {turn.id} is no longer run here")
    entered = []
    locked = lock_waiting_messages(db, "chat_key = ?", turn.chat_key)
    while (row := inbox.find_oldest_new(db, turn.chat_key)) and row.id in locked and takes(row):
        origin = _find_origin(db, turn, row)
        _claim_message(db, turn, step, row.id, origin)
        message = replace(row, turn_id=turn.id, origin=origin).build_user_message(db)
        entered.append(message)
        read = taint.make_origin_taint(origin), taint.make_attached_taint(message)
        taint.add_taint(db, turn.id, taint.join_taints(read))
    return attachments.load_and_fill_pictures(db, entered)


def _find_origin(db: Database, turn: Turn, row: InboxRow) -> Origin:
    """Return the origin of a message that enters a turn and may be another person's."""
    if not row.author.sender or row.origin in UNTRUSTED:
        return row.origin
    asked_by = turns.load_opening_message(db, turn.id).sender_id
    return "user" if asked_by == row.sender_id else "other_user"


def _claim_message(db: Database, turn: Turn, step: int, row: int, origin: Origin) -> None:
    db.execute(
        "UPDATE inbox SET state = 'claimed', agent_id = ?, turn_id = ?, after_step = ?, origin = ?"
        " WHERE id = ?",
        (turn.agent_id, turn.id, step, origin, row),
    )
