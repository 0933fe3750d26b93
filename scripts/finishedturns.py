"""Journals full of messages that were answered, for the benches."""

import apsw

from orchestrator.channel_api import InboundMessage
from orchestrator.journal.turns import inbox, outbox, steps, turns, usage
from orchestrator.journal.turns.inbox import Arrival
from orchestrator.journal.turns.outbox import OutboxPart
from orchestrator.journal.turns.turns import TurnAdmission
from thinker.protocol.messages import AssistantMessage, Usage
from thinker.protocol.methods import StepCommit

SENTENCE = "A sentence about the garden, the boat, number {} and what else was said that day."
USED = Usage(prompt=100, completion=10)


def finish_turn(db: apsw.Connection, number: int, place: tuple[str, str], now: int) -> None:
    """Store a message that was answered and delivered; ``place`` is an agent and a console chat."""
    agent, chat = place
    where = outbox.Address("console", "local", chat)
    message = InboundMessage(
        channel=where.channel,
        bot_id=where.bot_id,
        chat_id=where.chat_id,
        message_id=f"m{number}",
        sender_id="operator",
        text=SENTENCE.format(number),
    )
    inbox.ingest(db, [Arrival(message)], None, now)
    row = inbox.find_oldest_new(db, where.chat_key)
    admission = TurnAdmission(f"t{number:09}", agent, 1, 15, "1")
    turn = None if row is None else turns.admit_message(db, row, admission, now)
    if turn is None:
        raise SystemExit("a message was not admitted")
    answer = AssistantMessage(content=SENTENCE.format(number))
    steps.plan(db, StepCommit(turn_id=turn.id, response=answer, usage=USED), {}, 1, now)
    usage.record_usage(db, agent, turn.id, "openai/stub", USED, 0.0001, now)
    turns.end_with_reply(db, turn, [OutboxPart(answer.content)], outbox.STORED, ("done", None), now)
