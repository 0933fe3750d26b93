"""A turn read back: its steps, and the messages that entered it between them."""

from collections.abc import Sequence
from typing import NamedTuple

from orchestrator.journal.db.database import Database
from orchestrator.journal.turns import inbox, prompt_records, taint
from orchestrator.journal.turns.inbox import InboxRow
from orchestrator.journal.turns.steps import ENDED, IMMEDIATE
from thinker.protocol.messages import AssistantMessage, Message, ToolResult, Usage
from thinker.protocol.methods import RecordedCall, RecordedStep


class TurnTranscript(NamedTuple):
    """A turn as it is in the journal: its messages, in order, and its steps."""

    rows: tuple[InboxRow, ...]
    steps: tuple[RecordedStep, ...]

    @property
    def began_with(self) -> tuple[InboxRow, ...]:
        """The messages that did not enter the turn later."""
        return tuple(row for row in self.rows if row.after_step is None)

    @property
    def calls(self) -> bool:
        return any(step.calls for step in self.steps)

    @property
    def unfinished(self) -> bool:
        return any(call.result is None for step in self.steps for call in step.calls)


def read(db: Database, turn_id: str) -> TurnTranscript:
    rows = tuple(inbox.all_of_turn(db, turn_id))
    return TurnTranscript(rows, _steps(db, turn_id, rows))


def _steps(db: Database, turn_id: str, rows: Sequence[InboxRow]) -> tuple[RecordedStep, ...]:
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
    for row in rows:
        if (seq := row.after_step) is not None:
            entered = (*steps[seq].entered, row.said(db))
            steps[seq] = steps[seq].model_copy(update={"entered": entered})
    return tuple(steps.values())


def of_turn(db: Database, turn_id: str, known: TurnTranscript, sent: str) -> list[Message]:
    """Return the messages of a turn for its session.

    They are the user's messages, every step, and the reply ``sent`` if no model response has it.
    What the agent says counts as what the turn has read, which it may repeat.
    """
    read, context = taint.load(db, turn_id).own, prompt_records.sent(db, turn_id)
    spoken = {"origin": read.origin, "private": bool(read.private), "mixed": read.mixed}
    received = [row.said(db) for row in known.began_with]
    if context:
        received[-1] = received[-1].model_copy(update={"context": context})
    messages: list[Message] = [*received]
    last = ""
    for step in known.steps:
        if step.response.content or step.response.tool_calls:
            messages.append(step.response.model_copy(update=spoken))
        messages += [call.result for call in step.calls if call.result is not None]
        messages += step.entered
        last = "" if step.calls else step.response.content.strip()
    if sent and not last:
        messages.append(AssistantMessage.model_validate({"content": sent, **spoken}))
    return messages


def answered(db: Database, turn_id: str) -> bool:
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
    return not calls and is_answer(AssistantMessage.model_validate_json(result).content, finish)


def is_answer(text: str, finish: str | None) -> bool:
    """Return whether a response without calls is the answer of its turn."""
    return bool(text.strip()) or finish == "refused"
