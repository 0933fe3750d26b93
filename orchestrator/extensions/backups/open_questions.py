"""Ask again, after a restore, what waits for a person's decision."""

from pathlib import Path

from orchestrator.journal.opening import open_for_writing
from orchestrator.journal.turns import approvals, outbox, questions
from orchestrator.journal.turns.outbox import Address
from orchestrator.toolcalls.approvals import REPEATS

AGAIN = (
    "⚠️ I was restored from a backup of {made}. This still waits for your decision:\n\n{question}"
)


def repeat_open_questions(journal: Path, made: str, now: int) -> int:
    """Queue the open questions of a restored journal once more; return how many calls wait.

    A person who answered after the backup of ``made`` must learn that the chat waits again.
    """
    with open_for_writing(journal) as db:
        found = approvals.list_pending_approvals(db, now)
        for approval in found:
            row = outbox.OUTBOX.find_first(db, "approval_id = ? AND mode = 'direct'", approval.id)
            if row is not None and row.state != "queued":
                place = Address(row.channel, row.bot_id, row.chat_id, row.thread_id)
                text = AGAIN.format(made=made, question=row.body)
                questions.ask_question(db, approval, place, text, REPEATS, now, row.choices)
    return len(found)
