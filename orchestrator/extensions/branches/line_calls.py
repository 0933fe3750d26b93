"""Read what a line of sessions has left behind: the tail after the point it goes on from.

A subagent's calls belong to the conversation whose call began it, at any depth. What a scheduled
task does belongs to none.
"""

from collections.abc import Iterable
from typing import NamedTuple

from orchestrator.extensions.branches.carried_literals import find_carried_literal
from orchestrator.extensions.branches.line_ledger import (
    ALREADY,
    RECORDED,
    EarlierCall,
    NewCall,
    is_outside,
    judge_repetition,
)
from orchestrator.journal.db.database import Database, Rows
from orchestrator.journal.turns import attachments
from orchestrator.journal.turns.sessions import LINE
from orchestrator.journal.turns.steps import Call
from thinker.protocol.messages import ToolResult

# The turn ?1 and those whose calls began it, in order.
ROOTS = """WITH RECURSIVE root(id, depth) AS (
  SELECT id, 0 FROM turn WHERE id = ?1
  UNION ALL SELECT run.turn_id, depth + 1 FROM root JOIN inbox ON inbox.turn_id = root.id
  JOIN subagent_run AS run ON run.inbox_id = inbox.id WHERE depth < 20)
SELECT turn.id, session.id, parent_id FROM root CROSS JOIN turn CROSS JOIN session
WHERE turn.id = root.id AND session.id = session_id ORDER BY depth DESC LIMIT 1"""
# The turns of the line of the session ?1 that are not before its point, and those of their calls.
TAIL = f"""{LINE}, tail(id) AS (
  SELECT turn.id FROM line CROSS JOIN turn WHERE turn.session_id = line.id
    AND turn.rowid > coalesce((SELECT told.rowid FROM message JOIN turn AS told ON told.id = turn_id
    WHERE message.id = upto), 0)
  UNION SELECT inbox.turn_id FROM tail JOIN subagent_run AS run ON run.turn_id = tail.id
  JOIN inbox ON inbox.id = run.inbox_id WHERE inbox.turn_id IS NOT NULL)"""
TAIL_TURNS = f"{TAIL} SELECT id FROM tail"
LINE_SESSIONS = f"{LINE} SELECT id FROM line"
CALLS = Rows(
    EarlierCall,
    "step",
    "turn_id, seq, name, class, args, args_hash, state, coalesce(t_intent, t_plan), result",
)
# What was refused or has failed had no effect, and a recorded result is that of another call.
EFFECTS = f"""kind = 'tool' AND class <> 'pure' AND state <> 'failed' AND answered_by IS NULL
AND turn_id IN({TAIL_TURNS}) ORDER BY t_plan, turn_id, seq"""
RESULTS = f"""SELECT result FROM step WHERE kind = 'tool' AND state = 'done'
AND turn_id IN({TAIL_TURNS})"""
KNOWN = f"""{LINE} SELECT 1 FROM line CROSS JOIN message WHERE session_id = line.id
AND message.id <= upto AND instr(body, ?2) > 0 LIMIT 1"""
CARRIED = "the conversation that this one goes on from has brought or used {}, which counts once"


class _Root(NamedTuple):
    """The turn of a conversation that a turn belongs to."""

    turn_id: str
    session_id: int
    parent_id: int | None


def judge_call(db: Database, call: Call) -> ToolResult | str | None:
    """Return the recorded result for a call of a line, or why it must be approved, if either.

    A call that gets a result is marked with the one that has it.
    """
    root = _find_root(db, call.turn_id)
    if root is None or root.parent_id is None:
        return None
    new = NewCall.from_row(call, _load_hash(db, call))
    line = _Line(db, root.session_id)
    every = [(one, line.list_users(one)) for one in CALLS.select(db, EFFECTS, root.session_id)]
    tail = [one for one, users in every if not users]
    answered = [one for one, users in every if root.turn_id in users]
    verdict = judge_repetition(new, tail, answered, line.list_approved_tools())
    if isinstance(verdict, EarlierCall):
        return _repeat_result(db, call, verdict)
    if verdict is None and is_outside(new.name, new.side_effect):
        return line.find_carried_reason(new, tail)
    return verdict


def list_tail_turns(db: Database, session_id: int) -> list[str]:
    """Return the turns that a session's line has left behind, with those of their calls."""
    return [str(turn) for (turn,) in db.execute(TAIL_TURNS, (session_id,))]


def list_outside_calls(db: Database, session_id: int) -> list[EarlierCall]:
    """Return the calls in a line's tail whose effects are outside the journal."""
    return [one for one in CALLS.select(db, EFFECTS, session_id) if one.is_outside]


class _Line:
    """The line of a session, read once for a call."""

    def __init__(self, db: Database, session_id: int) -> None:
        self._db = db
        self._session_id = session_id
        self._left = set(list_tail_turns(db, session_id))
        before = db.execute(LINE_SESSIONS, (session_id,))
        self._sessions = {session_id, *(int(number) for (number,) in before)}

    def list_users(self, call: EarlierCall) -> set[str]:
        """Return the turns of the line in which the result of a call has answered another one."""
        users = self._db.execute("SELECT turn_id FROM step WHERE answered_by = ?", (call.key,))
        found = (self._find_turn(str(turn)) for (turn,) in users.fetchall())
        return {turn for turn in found if turn is not None}

    def list_approved_tools(self) -> list[str]:
        """Return the tools of the line's calls that a person approved despite the tail."""
        rows = self._db.execute(
            "SELECT name, approval.turn_id FROM approval JOIN step"
            " ON step.turn_id = approval.turn_id AND step.seq = approval.seq"
            " WHERE approval.state = 'used' AND reason LIKE ? ORDER BY approval.id",
            (f"{ALREADY}%",),
        )
        return [str(name) for name, turn in rows.fetchall() if self._find_turn(str(turn))]

    def find_carried_reason(self, call: NewCall, tail: Iterable[EarlierCall]) -> str | None:
        """Return why a call with a literal of the tail must be approved."""
        literal = find_carried_literal(
            call.arguments, self._iter_results(), (str(one.arguments) for one in tail), self._knows
        )
        return None if literal is None else CARRIED.format(literal)

    def _find_turn(self, turn_id: str) -> str | None:
        """Return the turn of the conversation that a turn belongs to, if it is of the line."""
        root = _find_root(self._db, turn_id)
        if root is None or root.turn_id in self._left or root.session_id not in self._sessions:
            return None
        return root.turn_id

    def _iter_results(self) -> Iterable[str]:
        rows = self._db.execute(RESULTS, (self._session_id,))
        return [ToolResult.model_validate_json(result).content for (result,) in rows]

    def _knows(self, literal: str) -> bool:
        return self._db.execute(KNOWN, (self._session_id, literal)).get is not None


def _find_root(db: Database, turn_id: str) -> _Root | None:
    found = db.execute(ROOTS, (turn_id,)).fetchone()
    return None if found is None else _Root(*found)


def _load_hash(db: Database, call: Call) -> str:
    sql = "SELECT args_hash FROM step WHERE turn_id = ? AND seq = ?"
    return str(db.execute(sql, (call.turn_id, call.seq)).get)


def _repeat_result(db: Database, call: Call, earlier: EarlierCall) -> ToolResult:
    """Return the recorded result as that of another call, and mark this one."""
    db.execute(
        "UPDATE step SET answered_by = ? WHERE turn_id = ? AND seq = ?",
        (earlier.key, call.turn_id, call.seq),
    )
    assert earlier.result is not None  # noqa: S101 - the ledger chooses no other
    (result,) = attachments.load_and_fill_pictures(db, [earlier.result])
    text = f"{RECORDED} {result.content}"
    return result.model_copy(update={"call_id": call.call_id, "content": text})
