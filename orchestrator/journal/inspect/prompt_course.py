"""The prompts of a turn beside those of another one: what was sent, what changed, what it cost."""

from typing import NamedTuple

import apsw

from orchestrator.journal.inspect import trace
from orchestrator.journal.inspect.trace import RecordedPrompt, Trace
from orchestrator.journal.inspect.turn_course import ModelCost

TURNS = 12  # of the chat that are compared


class SentBeside(NamedTuple):
    """A prompt, the one it is compared with, and what the calls of its turn used."""

    prompt: RecordedPrompt
    other: RecordedPrompt | None
    used: ModelCost | None
    turns: list[RecordedPrompt]  # the newest of the chat, oldest first


def find(db: apsw.Connection, turn_id: str, other: str | None = None) -> SentBeside | None:
    """Return the first prompt of a turn beside that of ``other``, or of the turn before.

    None if the turn has none.
    """
    own = _first(db, turn_id)
    if own is None:
        return None
    around = [
        str(turn)
        for (turn,) in db.execute(
            "SELECT id FROM turn WHERE session_id = (SELECT session_id FROM turn WHERE id = ?1)"
            " AND started_at <= (SELECT started_at FROM turn WHERE id = ?1)"
            " ORDER BY started_at DESC LIMIT ?2",
            (turn_id, TURNS),
        )
    ]
    prompts = [found for turn in reversed(around) if (found := _first(db, turn)) is not None]
    before = next((one for one in reversed(prompts) if one.turn_id != turn_id), None)
    named = [] if other is None else trace.turns_named(db, other)
    beside = before if other is None else _first(db, named[0]) if named else None
    return SentBeside(own, beside, _used(db, turn_id), prompts)


def _first(db: apsw.Connection, turn_id: str) -> RecordedPrompt | None:
    found = trace.prompts(db, Trace(messages=(), turns=(turn_id,), events=()))
    return found[0] if found else None


def _used(db: apsw.Connection, turn_id: str) -> ModelCost | None:
    for row in db.execute(
        "SELECT model, prompt, completion, cached, usd FROM model_call WHERE turn_id = ?"
        " AND state = 'settled' ORDER BY id LIMIT 1",
        (turn_id,),
    ):
        return ModelCost(*row)
    return None
