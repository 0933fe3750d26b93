"""A turn read back: its steps, and the messages that entered it between them."""

from collections.abc import Sequence

import apsw

from orchestrator.journal.turns import attachments, inbox, prompt_records, taint
from orchestrator.journal.turns.inbox import InboxRow
from orchestrator.journal.turns.steps import ENDED, IMMEDIATE
from thinker.protocol.messages import AssistantMessage, Message, ToolResult, Usage
from thinker.protocol.methods import RecordedCall, RecordedStep


def recorded(db: apsw.Connection, turn_id: str) -> tuple[RecordedStep, ...]:
    steps: dict[int, RecordedStep] = {}
    for seq, kind, parent, name, result, state, finish, usage in db.execute(
        "SELECT seq, kind, parent, name, result, state, finish, usage FROM step"
        " WHERE turn_id = ? ORDER BY seq",
        (turn_id,),
    ):
        if kind == "model":
            steps[seq] = RecordedStep(
                seq=seq,
                asked=name != IMMEDIATE,
                response=AssistantMessage.model_validate_json(result),
                finish=finish,
                usage=Usage.model_validate_json(usage),
            )
            continue
        ended = ToolResult.model_validate_json(result) if state in ENDED else None
        step = steps[parent]
        call = RecordedCall(seq=seq, result=ended)
        steps[parent] = step.model_copy(update={"calls": (*step.calls, call)})
    for row in inbox.entered(db, turn_id):
        message = attachments.user_message(db, row.id, row.text, row.author)
        seq = int(row.after_step or 0)
        steps[seq] = steps[seq].model_copy(update={"entered": (*steps[seq].entered, message)})
    return tuple(steps.values())


def of_turn(
    db: apsw.Connection, turn_id: str, rows: Sequence[InboxRow], sent: str
) -> list[Message]:
    """Return the messages of a turn for its session.

    They are the user's messages, every step, and the reply ``sent`` if no model response has it.
    What the agent says counts as what the turn has read, which it may repeat.
    """
    read = taint.load(db, turn_id).own
    spoken = {"origin": read.origin, "private": bool(read.private), "mixed": read.mixed}
    received = [attachments.user_message(db, row.id, row.text, row.author) for row in rows]
    context = prompt_records.sent(db, turn_id) or ()
    received[-1] = received[-1].model_copy(update={"context": context})
    messages: list[Message] = [*received]
    last = ""
    for step in recorded(db, turn_id):
        if step.response.content or step.response.tool_calls:
            messages.append(step.response.model_copy(update=spoken))
        messages += [call.result for call in step.calls if call.result is not None]
        messages += step.entered
        last = "" if step.calls else step.response.content.strip()
    if sent and not last:
        messages.append(AssistantMessage.model_validate({"content": sent, **spoken}))
    return messages


def answered(db: apsw.Connection, turn_id: str) -> bool:
    """Return whether a turn's last step is its answer, so that no model call is left."""
    found = db.execute(
        "SELECT result, finish, EXISTS(SELECT 1 FROM step AS call WHERE call.turn_id = step.turn_id"
        " AND call.parent = step.seq) FROM step WHERE turn_id = ? AND kind = 'model'"
        " ORDER BY seq DESC LIMIT 1",
        (turn_id,),
    ).fetchone()
    if found is None:
        return False
    result, finish, calls = found
    text = AssistantMessage.model_validate_json(result).content.strip()
    return not calls and (bool(text) or finish == "refused")
