"""The steps of a move in the two journals; each is one transaction and may be repeated.

The home that an agent leaves keeps it paused, and no request can resume it, until the move is
confirmed or undone. At the target the agent is paused as well, until its source is marked as left.
So at no moment do both work. Each journal has the move's present phase in its table of single
values, by which an interrupted move goes on.

Where: is a moved agent kept from working in two homes?
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal, TypeAlias

from orchestrator.control.camel_model import CamelModel
from orchestrator.errors import OrchestratorError
from orchestrator.extensions.relocation import row_file, waiting_messages
from orchestrator.extensions.relocation.agent_tables import OF_AGENT, AgentRows, list_busy
from orchestrator.extensions.relocation.row_file import CheckedFile
from orchestrator.journal.db import audit, liveness, row_times
from orchestrator.journal.db.database import Database
from orchestrator.journal.turns import cancellations, inbox, outbox, pauses, turns

# The phases at the source, and then at the target.
Phase: TypeAlias = Literal["none", "leaving", "moved", "arriving", "arrived", "active"]
KEY = "relocation {}"  # with the agent's id, in `meta`
LIFTED_BY_PEOPLE = ("operator", "anomaly")  # pauses that no move ends
PAUSED = "I am moving to another home"
HELD = (
    "it moves between {here} and {there}; run 'orchestrator agents move' again at its old home, or"
    " end the move there: orchestrator agents moved {agent} --confirm, or --undo"
)
OTHER_VERSION = (
    "the daemon of {here} is of another version than this command; restart it, and run the move"
    " again"
)
ENDED = "the agent moved to another home"
WORKED_ON = """SELECT count(*) FROM turn WHERE agent_id = :agent AND (
  started_at > :at OR ended_at > :at
  OR EXISTS(SELECT 1 FROM step WHERE turn_id = turn.id
    AND (t_plan > :at OR t_intent > :at OR t_end > :at))
  OR EXISTS(SELECT 1 FROM model_call WHERE turn_id = turn.id AND at > :at))"""
GIVEN_UP = (
    "UPDATE outbox SET state = 'abandoned', ended_at = created_at"
    f" WHERE id IN of_outbox AND {outbox.OPEN}"
)


class Move(CamelModel):
    """A move as a journal knows it; ``place`` is the other home.

    ``resumes``: no person has to let the agent work. ``waiting`` are the messages that went along
    before a turn took them, and ``at`` is when the rows arrived, in milliseconds.
    """

    id: str
    place: str
    phase: Phase
    resumes: bool = True
    waiting: tuple[int, ...] = ()
    at: int = 0


class StepRequest(CamelModel):
    """A step of a move; ``here`` and ``there`` are this home and the other one.

    ``rows`` is the file with the agent's rows, ``path`` that with late messages, ``waiting`` are
    ids of messages, and ``live`` says that the home's daemon runs.
    """

    step: str
    agent_id: str
    id: str = ""
    here: str = ""
    there: str = ""
    path: str = ""
    rows: CheckedFile | None = None
    waiting: tuple[int, ...] = ()
    live: bool = False
    resumes: bool = True


class StepReport(CamelModel):
    """The move after a step; ``busy`` says what has to end first."""

    move: Move | None = None
    busy: tuple[str, ...] = ()


def run_step(db: Database, request: StepRequest, now: int) -> StepReport:
    """Run a step; ``now`` in milliseconds.

    Raises:
        OrchestratorError: the step is impossible now; the message says what to do.
    """
    STEPS[request.step](db, request, now)
    return _report(db, request)


def find_move(db: Database, agent_id: str) -> Move | None:
    found = db.execute("SELECT v FROM meta WHERE k = ?", (KEY.format(agent_id),)).get
    return None if found is None else Move.model_validate_json(str(found))


def _report(db: Database, request: StepRequest) -> StepReport:
    return StepReport(
        move=find_move(db, request.agent_id),
        busy=tuple(list_busy(db, request.agent_id, live=request.live)),
    )


def _look(db: Database, request: StepRequest, now: int) -> None:
    """Change nothing: the report says how things are."""
    del db, request, now


def _check(db: Database, request: StepRequest, now: int) -> None:
    """Require that the agent can come to its new home."""
    del now
    found = find_move(db, request.agent_id)
    if found is not None and found.place == request.there and found.phase != "active":
        return  # of an earlier move, which was undone while this home was out of reach
    if found is not None:
        raise OrchestratorError(
            f"{request.here} has a move of agent '{request.agent_id}' that was not ended, with"
            f" {found.place}; end it there: orchestrator agents moved {request.agent_id} --confirm"
        )
    known = AgentRows(db, request.agent_id).count_rows()
    if any(table in OF_AGENT for table in known):
        raise OrchestratorError(
            f"{request.here} has data of an earlier agent '{request.agent_id}'; delete it there"
            f" with 'orchestrator forget agent {request.agent_id}', or move it away"
        )


def _leave(db: Database, request: StepRequest, now: int) -> None:
    """Pause the agent at its old home, for good."""
    found = find_move(db, request.agent_id)
    if found is None:
        _hold(db, request, "leaving", now)
    elif found.phase not in ("leaving", "moved") or found.place != request.there:
        raise OrchestratorError(
            f"agent '{request.agent_id}' already moves between here and {found.place}; end that"
            f" first: orchestrator agents moved {request.agent_id} --confirm, or --undo"
        )


def _expect(db: Database, request: StepRequest, now: int) -> None:
    """Pause the agent at its new home before it is there."""
    found = find_move(db, request.agent_id)
    if found is not None and found.id == request.id:
        return
    _check(db, request, now)
    if found is not None:
        _forget(db, request, now)
        AgentRows(db, request.agent_id, found.waiting).delete_rows()
    _hold(db, request, "arriving", now)


def _arrive(db: Database, request: StepRequest, now: int) -> None:
    """Store the agent's rows, whose open turns go on as after a restart of a daemon."""
    move = _require_move(db, request)
    if move.phase != "arriving":
        return
    if request.rows is None:
        raise OrchestratorError(OTHER_VERSION.format(here=request.here))
    newest = row_times.find_newest_rows(db)
    row_file.store_rows(db, request.rows, request.agent_id)
    row_times.note_runs(db, newest)
    _adopt_turns(db, request.agent_id, now)
    waiting = db.execute("SELECT id FROM inbox WHERE state = 'new' AND id > ?", (newest["inbox"],))
    arrived = {"phase": "arrived", "at": now, "waiting": tuple(int(row) for (row,) in waiting)}
    _store_move(db, request.agent_id, move.model_copy(update=arrived))
    audit.record_decision(
        db, "operator", f"took in from {request.there}", f"agent {request.agent_id}", now
    )


def _adopt_turns(db: Database, agent_id: str, now: int) -> None:
    """Make open turns those of this journal's daemon; see `turns.boot`."""
    epoch, newest = liveness.count_starts(db), db.execute("SELECT max(id) FROM transition").get
    db.execute(
        "UPDATE step SET epoch = min(epoch, CAST(? AS BIGINT)) WHERE turn_id IN"
        f" (SELECT id FROM turn WHERE agent_id = ? AND {turns.OPEN})",
        (epoch, agent_id),
    )
    # The steps are what they were: their history does not change.
    db.execute("DELETE FROM transition WHERE id > ?", (int(newest or 0),))
    db.execute(
        "UPDATE turn SET epoch = ?, deadline = ? + allowed, state = 'running', wait = NULL"
        f" WHERE agent_id = ? AND {turns.OPEN}",
        (epoch, now, agent_id),
    )
    lost = "UPDATE model_call SET state = 'lost' WHERE agent_id = ? AND state = 'reserved'"
    db.execute(lost, (agent_id,))


def _send(db: Database, request: StepRequest, now: int) -> None:
    """Note which waiting messages go along, so that later ones are known as such."""
    del now
    move = _require_move(db, request)
    if move.phase == "leaving":
        sent = move.model_copy(update={"waiting": request.waiting})
        _store_move(db, request.agent_id, sent)


def _depart(db: Database, request: StepRequest, now: int) -> None:
    """Mark the agent as gone from its old home; from now on it can only work at the new one."""
    move = _require_move(db, request)
    if move.phase == "leaving":
        _store_move(db, request.agent_id, move.model_copy(update={"phase": "moved"}))
        audit.record_decision(
            db, "operator", f"moved to {request.there}", f"agent {request.agent_id}", now
        )


def _activate(db: Database, request: StepRequest, now: int) -> None:
    """Let the agent work at its new home."""
    move = _require_move(db, request)
    if move.phase == "arrived":
        _store_move(db, request.agent_id, move.model_copy(update={"phase": "active"}))
        _release(db, request.agent_id, now, resumes=move.resumes)


def _receive(db: Database, request: StepRequest, now: int) -> None:
    """Store messages that came to the old home since, once each."""
    del now
    newest = row_times.find_newest_rows(db)
    waiting_messages.store_messages(db, Path(request.path))
    row_times.note_runs(db, newest)


def _settle(db: Database, request: StepRequest, now: int) -> None:
    """End at the old home what goes on at the new one; no chat hears of it."""
    move = _require_move(db, request)
    if move.phase != "moved":
        raise OrchestratorError(
            f"agent '{request.agent_id}' has not arrived; run the move again, or --undo it"
        )
    rows = AgentRows(db, request.agent_id)
    rows.execute(GIVEN_UP)  # before the turns, whose previews would say that they were stopped
    keys = rows.execute(
        f"SELECT chat_key FROM turn WHERE id IN of_turn AND {turns.OPEN}"
    ).fetchall()
    for (key,) in keys:
        cancellations.cancel_turn(db, str(key), ENDED, now)
    AgentRows(db, request.agent_id).execute(GIVEN_UP)  # what was asked there is asked elsewhere
    for row in request.waiting:
        inbox.end_messages(db, "id = ? AND state = 'new'", row, "cancelled", ENDED, now)
    db.execute(
        "UPDATE task SET state = 'cancelled', note = ? WHERE agent_id = ?"
        " AND state IN('active','disabled')",
        (ENDED, request.agent_id),
    )


def _close(db: Database, request: StepRequest, now: int) -> None:
    """Forget the move itself; the agent's data stays."""
    del now
    for key in (KEY, pauses.HOLD):
        db.execute("DELETE FROM meta WHERE k = ?", (key.format(request.agent_id),))


def _forget(db: Database, request: StepRequest, now: int) -> None:
    """Forget the move at the old home, which has no such agent any more."""
    pauses.end_pause(db, request.agent_id, "operator", now)
    _close(db, request, now)


def _withdraw(db: Database, request: StepRequest, now: int) -> None:
    """Pause the agent at its new home, where it has done nothing yet, and remove its rows."""
    move = find_move(db, request.agent_id)
    if move is None or move.id != request.id or move.phase == "arriving":
        return
    count = int(db.execute(WORKED_ON, {"agent": request.agent_id, "at": move.at}).get)
    if count:
        raise OrchestratorError(
            f"agent '{request.agent_id}' has worked on {count} turns at {request.here} since it"
            " arrived, which its old home does not know; keep the move with --confirm, and"
            " move the agent back afterwards"
        )
    AgentRows(db, request.agent_id, move.waiting).delete_rows()
    _hold(db, request, "arriving", now)
    audit.record_decision(
        db, "operator", f"gave back to {move.place}", f"agent {request.agent_id}", now
    )


def _discard(db: Database, request: StepRequest, now: int) -> None:
    """Forget at the new home that the agent was to come."""
    move = find_move(db, request.agent_id)
    if move is not None and move.id == request.id:
        _forget(db, request, now)
        # The agent had nothing there: what is left are its pauses by the move.
        AgentRows(db, request.agent_id).delete_rows()


def _return(db: Database, request: StepRequest, now: int) -> None:
    """Let the agent work at its old home again."""
    move = _require_move(db, request)
    _release(db, request.agent_id, now, resumes=move.resumes)
    _close(db, request, now)


STEPS: Mapping[str, Callable[[Database, StepRequest, int], None]] = {
    "look": _look,
    "check": _check,
    "leave": _leave,
    "expect": _expect,
    "send": _send,
    "arrive": _arrive,
    "depart": _depart,
    "activate": _activate,
    "receive": _receive,
    "settle": _settle,
    "close": _close,
    "forget": _forget,
    "withdraw": _withdraw,
    "discard": _discard,
    "return": _return,
}


def _require_move(db: Database, request: StepRequest) -> Move:
    move = find_move(db, request.agent_id)
    if move is None or move.id != request.id:
        raise OrchestratorError(
            f"{request.here} knows nothing of this move of agent '{request.agent_id}'; run"
            f" 'orchestrator agents moved {request.agent_id} --undo' at its old home"
        )
    return move


def _hold(db: Database, request: StepRequest, phase: Phase, now: int) -> None:
    """Begin a move: the agent is paused, and only the move can end that."""
    agent_id, before = request.agent_id, pauses.find_pause(db, request.agent_id)
    by_person = before is not None and before.kind in LIFTED_BY_PEOPLE
    if before is not None and not by_person:
        pauses.end_pause(db, agent_id, "operator", now)
    pauses.begin_pause(db, agent_id, "operator", PAUSED, "operator", now)
    resumes = not by_person if phase == "leaving" else request.resumes
    move = Move(id=request.id, place=request.there, phase=phase, resumes=resumes)
    _store_move(db, agent_id, move)
    held = HELD.format(agent=agent_id, here=request.here, there=request.there)
    _store_value(db, pauses.HOLD.format(agent_id), held)


def _release(db: Database, agent_id: str, now: int, *, resumes: bool) -> None:
    db.execute("DELETE FROM meta WHERE k = ?", (pauses.HOLD.format(agent_id),))
    if resumes:
        pauses.end_pause(db, agent_id, "operator", now)


def _store_move(db: Database, agent_id: str, move: Move) -> None:
    _store_value(db, KEY.format(agent_id), move.model_dump_json())


def _store_value(db: Database, key: str, value: str) -> None:
    db.execute(
        "INSERT INTO meta VALUES(?,?) ON CONFLICT(k) DO UPDATE SET v = excluded.v", (key, value)
    )
