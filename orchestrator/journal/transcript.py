"""A turn's steps read back."""

import apsw

from thinker.protocol.messages import AssistantMessage


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
