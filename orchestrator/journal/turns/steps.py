"""Steps: the model responses and tool calls of a turn, each with its own state.

``planned → intent → done | failed | unknown``. A row that has ended never changes again
(invariant 5), and a tool runs only between T4 and T5 of its own row.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import orjson
from pydantic import Json

from orchestrator.journal.db.database import Database, Rows
from orchestrator.journal.db.store import FencedError
from orchestrator.journal.turns import attachments, prompt_records, stored_files, taint
from orchestrator.journal.turns.prompt_records import NO_SOURCES, PromptSources, SentPrompt
from thinker.protocol.fencing import compute_mark
from thinker.protocol.messages import AssistantMessage, JsonObject, SideEffect, ToolCall, ToolResult
from thinker.protocol.methods import StepCommit, StepCommitted

HARMLESS = (SideEffect.PURE, SideEffect.LOCAL_TX)  # without a result, nothing happened
ENDED = ("done", "failed", "unknown")
IMMEDIATE = "immediate"  # instead of a model's name, in a step that needed no model
UNKNOWN_OUTCOME = orjson.dumps(  # the result that the model reads for an unknown call
    {
        "status": "unknown_outcome",
        "note": "process stopped after dispatch; may or may not have happened;"
        " verify before repeating",
    }
).decode()


@dataclass(frozen=True)
class Call:
    """A stored tool call; ``epoch`` is that of its turn when it was read."""

    turn_id: str
    seq: int
    call_id: str
    name: str
    side_effect: SideEffect
    arguments: Json[JsonObject]
    idem_key: str
    state: str
    result: Json[ToolResult] | None
    epoch: int


CALLS = Rows(
    Call,
    "step JOIN turn ON turn.id = turn_id",
    "turn_id, seq, call_id, name, class, args, idem_key, step.state, result, turn.epoch",
)


def plan(
    db: Database,
    commit: StepCommit,
    classes: Mapping[str, SideEffect],
    epoch: int,
    now: int,
    sources: PromptSources = NO_SOURCES,
) -> StepCommitted:
    """Store a model response and all its calls (T3), with the prompt and its sources.

    A call that the worker rejected (bad arguments, unknown tool) ends here, so that every planned
    row ends (invariant 8). A tool that is not in ``classes`` is ``non_idempotent``.

    Raises:
        FencedError: the turn no longer belongs to this epoch.
    """
    owned = db.execute(
        "SELECT session_id, started_at, (SELECT max(seq) FROM step WHERE turn_id = turn.id)"
        " FROM turn WHERE id = ? AND epoch = ? AND state = 'running'",
        (commit.turn_id, epoch),
    ).fetchone()
    if owned is None:
        raise FencedError(f"turn {commit.turn_id} belongs to another process")
    seq = 1 + int(owned[2] or 0)
    turn_id, body, used = commit.turn_id, commit.response.model_dump_json(), commit.usage
    timing = commit.timing and commit.timing.model_dump_json(exclude_defaults=True)
    said = (commit.model, body, commit.finish, used.model_dump_json(), commit.request_id, timing)
    db.execute(
        "INSERT INTO step(turn_id, seq, kind, name, class, state, result, finish, usage,"
        " request_id, timing, epoch, t_plan, t_end)"
        " VALUES(?,?,'model',?,'pure','done',?,?,?,?,?,?,?,?)",
        (turn_id, seq, *said, epoch, now, now),
    )
    for number, call in enumerate(commit.calls, seq + 1):
        args = orjson.dumps(call.arguments, option=orjson.OPT_SORT_KEYS).decode()
        digest = hashlib.sha256(f"{call.name}\0{args}".encode()).hexdigest()
        side_effect = classes.get(call.name, SideEffect.NON_IDEMPOTENT)
        values = (turn_id, number, seq, call.name, side_effect, args, digest, call.id)
        state, rejection, ended = "planned", None, None
        if call.rejected is not None:
            rejection = _make_failure(call.id, call.name, call.rejected).model_dump_json()
            state, ended = "failed", now
        db.execute(
            "INSERT INTO step(turn_id, seq, kind, parent, name, class, args, args_hash, call_id,"
            " idem_key, state, result, epoch, t_plan, t_end)"
            " VALUES(?,?,'tool',?,?,?,?,?,?,?,?,?,?,?,?)",
            (*values, f"{turn_id}:{number}", state, rejection, epoch, now, ended),
        )
    changed: tuple[str, ...] = ()
    if commit.prompt is not None:
        sent = SentPrompt(turn_id, now, int(owned[0]), int(owned[1]))
        changed = prompt_records.record_prompt(db, sent, commit.prompt, sources)
    seqs = tuple(range(seq + 1, seq + 1 + len(commit.calls)))
    return StepCommitted(seq=seq, call_seqs=seqs, changed=changed)


def list_call_ids(db: Database, turn_id: str) -> frozenset[str]:
    rows = db.execute("SELECT call_id FROM step WHERE turn_id = ? AND kind = 'tool'", (turn_id,))
    return frozenset(str(call_id) for (call_id,) in rows)


def find_call(db: Database, turn_id: str, seq: int) -> Call | None:
    call = CALLS.find_first(db, "turn_id = ? AND seq = ? AND kind = 'tool'", turn_id, seq)
    if call is None or call.result is None:
        return call
    return replace(call, result=attachments.load_and_fill_pictures(db, [call.result])[0])


def find_written_call(db: Database, call: Call) -> ToolCall | None:
    """Return a call as the model wrote it; None for a call of the daemon."""
    sql = (
        "SELECT response.result FROM step JOIN step AS response"
        " ON response.turn_id = step.turn_id AND response.seq = step.parent"
        " WHERE step.turn_id = ? AND step.seq = ?"
    )
    body = db.execute(sql, (call.turn_id, call.seq)).get
    if not isinstance(body, str):
        return None
    made = AssistantMessage.model_validate_json(body).tool_calls
    return next((one for one in made if one.id == call.call_id), None)


def list_unasked_calls(db: Database, call: Call) -> list[Call]:
    """Return the other planned calls of a call's step about which no question was asked."""
    where = (
        "turn_id = ?1 AND seq <> ?2 AND step.state = 'planned' AND parent ="
        " (SELECT own.parent FROM step AS own WHERE own.turn_id = ?1 AND own.seq = ?2)"
        " AND NOT EXISTS(SELECT 1 FROM approval WHERE approval.turn_id = step.turn_id"
        " AND approval.seq = step.seq) ORDER BY seq"
    )
    return CALLS.select(db, where, call.turn_id, call.seq)


def list_planned_calls(db: Database, turn_id: str) -> list[Call]:
    where = "turn_id = ? AND kind = 'tool' AND step.state = 'planned' ORDER BY seq"
    return CALLS.select(db, where, turn_id)


def mark_intent(db: Database, turn_id: str, seq: int, epoch: int, now: int) -> None:
    """Mark a call before its tool runs (T4).

    Raises:
        FencedError: the turn does not belong to this epoch, or the call is not planned.
    """
    db.execute(
        "UPDATE step SET state = 'intent', epoch = ?1, t_intent = ?2"
        " WHERE turn_id = ?3 AND seq = ?4 AND state = 'planned'"
        " AND EXISTS(SELECT 1 FROM turn WHERE id = turn_id AND epoch = ?1 AND state = 'running')",
        (epoch, now, turn_id, seq),
    )
    if db.changes() != 1:
        raise FencedError(
            f"call {turn_id}:{seq} is not waiting to run, or another process owns its turn"
        )


def finish(
    db: Database, call: Call, result: ToolResult, now: int, state: str | None = None
) -> ToolResult:
    """Store the result of a call (T5) and what its turn has read with it; return it.

    ``state`` is ``unknown`` if the tool may or may not have run; by default it follows from
    ``result``.

    Raises:
        FencedError: the call has ended, or its turn has a newer owner than when it was read.
    """
    if result.is_untrusted:
        result = result.model_copy(update={"fence": compute_mark(call.turn_id)})
    taint.add_taint(db, call.turn_id, taint.make_result_taint(result))
    kept = stored_files.store_result_files(db, call.turn_id, call.seq, result, now)
    db.execute(
        "UPDATE step SET state = ?, result = ?, t_end = ?"
        " WHERE turn_id = ? AND seq = ? AND state IN('planned','intent')"
        " AND (SELECT epoch FROM turn WHERE id = turn_id) = ?",
        (
            state or ("failed" if result.is_error else "done"),
            kept.model_dump_json(),
            now,
            call.turn_id,
            call.seq,
            call.epoch,
        ),
    )
    if db.changes() != 1:
        raise FencedError(
            f"call {call.idem_key} has already ended, or another process owns its turn"
        )
    return result.model_copy(update={"content": kept.content, "files": ()})


def finish_local(
    db: Database,
    call: Call,
    effect: Callable[[Database], ToolResult],
    epoch: int,
    now: int,
) -> ToolResult:
    """Run a ``local_tx`` tool (T4 and T5): its effect is a change of the journal, made here.

    Raises:
        FencedError: as `mark_intent`.
    """
    mark_intent(db, call.turn_id, call.seq, epoch, now)
    return finish(db, call, effect(db), now)


def recover_calls(db: Database, turn_id: str, running: frozenset[int], now: int) -> None:
    """Settle the dispatched calls without a result, by their side-effect class.

    Calls in ``running`` are left alone, as this process is still running them. Calls that may be
    repeated become ``planned`` again; the others become ``unknown``.
    """
    _settle_calls(db, turn_id, running, (*HARMLESS, SideEffect.KEYED), now)


def abandon_calls(db: Database, turn_id: str, reason: str, now: int) -> None:
    """Fail the calls without a result, as their turn ends (invariant 8).

    Dispatched calls are settled first: a call that may have happened must not count as failed.
    """
    _settle_calls(db, turn_id, frozenset(), HARMLESS, now)
    for call in list_planned_calls(db, turn_id):
        finish(db, call, _make_failure(call.call_id, call.name, reason), now)


def list_tool_names(db: Database, turn_id: str) -> tuple[str, ...]:
    rows = db.execute(
        "SELECT name FROM step WHERE turn_id = ? AND kind = 'tool' ORDER BY seq", (turn_id,)
    )
    return tuple(str(name) for (name,) in rows)


def is_only_call(db: Database, turn_id: str, seq: int) -> bool:
    sql = (
        "SELECT count(*) = 1 FROM step WHERE turn_id = ?1 AND parent ="
        " (SELECT parent FROM step WHERE turn_id = ?1 AND seq = ?2)"
    )
    return bool(db.execute(sql, (turn_id, seq)).get)


def count_model_calls(db: Database, turn_id: str) -> int:
    sql = "SELECT count(*) FROM step WHERE turn_id = ? AND kind = 'model'"
    return int(db.execute(sql, (turn_id,)).get)


def list_unconfirmed_tools(db: Database, turn_id: str) -> list[str]:
    """Return the names of a turn's tools that may or may not have run."""
    rows = db.execute(
        "SELECT name FROM step WHERE turn_id = ? AND"
        " (state = 'unknown' OR state = 'intent' AND class NOT IN(?,?)) ORDER BY seq",
        (turn_id, *HARMLESS),
    )
    return list(dict.fromkeys(str(name) for (name,) in rows))


def _settle_calls(
    db: Database,
    turn_id: str,
    running: frozenset[int],
    repeatable: Sequence[SideEffect],
    now: int,
) -> None:
    for call in CALLS.select(db, "turn_id = ? AND step.state = 'intent' ORDER BY seq", turn_id):
        if call.seq in running:
            continue
        if call.side_effect in repeatable:
            db.execute(
                "UPDATE step SET state = 'planned', t_intent = NULL WHERE turn_id = ? AND seq = ?",
                (turn_id, call.seq),
            )
        else:
            unknown = _make_failure(call.call_id, call.name, UNKNOWN_OUTCOME)
            finish(db, call, unknown, now, "unknown")


def _make_failure(call_id: str, name: str, content: str) -> ToolResult:
    return ToolResult(call_id=call_id, name=name, content=content, is_error=True)
