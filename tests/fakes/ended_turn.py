"""Turns that went all the way, with what was measured of them."""

from fakes.journal import call, job, next_turn, receive, update

from orchestrator.journal.db.database import Database
from orchestrator.journal.turns import approvals, outbox, questions, steps, turns, usage
from orchestrator.journal.turns.outbox import OutboxPart
from orchestrator.journal.turns.turns import Turn
from thinker.protocol.call_timing import CallAttempt, CallTiming
from thinker.protocol.messages import AssistantMessage, ToolCall, ToolResult, Usage
from thinker.protocol.methods import PlannedCall, StepCommit

SECRET = "zebra"  # in every text, argument and name of a chat of such a turn
MODEL = "groq/qwen/qwen3-32b"
USED = Usage(prompt=900, cached=400, completion=20)
BUSY = CallAttempt(model=MODEL, began=1000, ended=1400, status=429, error=f"busy with {SECRET}")
SERVED = CallAttempt(model=MODEL, began=1500, ended=3000, status=200)
TIMING = CallTiming(began=1000, ended=3000, first=1700, attempts=(BUSY, SERVED), sent=10, got=10)


def turn_id(number: int) -> str:
    """The id of such a turn, which has the form of those that the daemon makes."""
    return f"{number:032x}"


def began(db: Database, number: int) -> Turn:
    """A turn that waits for its model."""
    receive(db, update(number, f"hello {SECRET}", f"{SECRET}{number}"), now=500)
    turn = next_turn(db, turn_id(number), f"{SECRET}{number}", now=800)
    assert turn is not None
    return turn


def called(db: Database, turn: Turn, *, approved: bool = False) -> None:
    """A model's response that called a tool, which ran."""
    made = ToolCall(id="c", name="pay")
    commit = StepCommit(
        turn_id=turn.id,
        response=AssistantMessage(content=SECRET, tool_calls=(made,)),
        calls=(PlannedCall(id="c", name="pay", arguments={"for": SECRET}),),
        model=MODEL,
        timing=TIMING,
        usage=USED,
    )
    with job(db):
        planned = steps.plan(db, commit, {}, 1, 3000)
        usage.settle_call(db, "work", turn.id, MODEL, USED, 0.25, 3000, planned.seq)
        (seq,) = planned.call_seqs
        if approved:
            approvals.request_approval(db, call(db, turn.id, seq), SECRET, f"code {turn.id}", 3000)
            questions.decide_question(db, f"code {turn.id}", "operator", 4000, granted=True)
            approvals.use_approval(db, call(db, turn.id, seq), 4000)
        steps.mark_intent(db, turn.id, seq, 1, 4000)
        result = ToolResult(call_id="c", name="pay", content=SECRET)
        steps.finish(db, call(db, turn.id, seq), result, 5000)


def replied(db: Database, turn: Turn, reason: str = "done") -> None:
    """The answer, which is to be delivered yet."""
    with job(db):
        turns.end_with_reply(db, turn, [OutboxPart(SECRET)], "direct", (reason, None), 6000)


def delivered(db: Database) -> None:
    """Deliver all that waits."""
    with job(db):
        for row in outbox.list_due_rows(db, "telegram"):
            outbox.mark_sending(db, row.id, "sending", 6000)
            outbox.mark_delivered(db, row, "1", 7000)


def lived(db: Database, number: int) -> Turn:
    """A turn from its message to the delivery of its answer."""
    turn = began(db, number)
    called(db, turn)
    replied(db, turn)
    delivered(db)
    return turn
