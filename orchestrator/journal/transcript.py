"""A turn's steps read back."""

from collections.abc import Sequence

import apsw

from orchestrator.journal import steps
from orchestrator.journal.inbox import InboxRow
from thinker.protocol.messages import AssistantMessage, Message, UserMessage


def of_turn(
    db: apsw.Connection, turn_id: str, rows: Sequence[InboxRow], sent: str
) -> list[Message]:
    """What the session keeps: the messages, every step and, if it differs, the reply sent."""
    messages: list[Message] = [UserMessage(content=row.text) for row in rows]
    last = ""
    for step in steps.recorded(db, turn_id):
        if step.response.content or step.response.tool_calls:
            messages.append(step.response)
        messages += [call.result for call in step.calls if call.result is not None]
        last = "" if step.calls else step.response.content.strip()
    if sent and not last:
        messages.append(AssistantMessage(content=sent))
    return messages


def answered(db: apsw.Connection, turn_id: str) -> bool:
    """Whether a turn's last step was its answer, so that its model is asked nothing more."""
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
