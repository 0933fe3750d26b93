"""Read recorded turns as they were sent, with what came of each request.

A turn may have been run by several processes, each with a prompt of its own; a request belongs to
the newest prompt before it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import orjson
from pydantic import Json

from orchestrator.errors import UnknownNameError
from orchestrator.extensions.workbench.recorded_parts import RecordedPart, list_parts
from orchestrator.journal.db.database import Database, Rows
from orchestrator.journal.inspect.trace import list_turns_named
from orchestrator.journal.turns import sessions, turns
from orchestrator.journal.turns.steps import ENDED, IMMEDIATE
from orchestrator.journal.turns.turns import Turn
from thinker.protocol.call_timing import CallTiming
from thinker.protocol.messages import Frozen, JsonObject, ToolResult, Usage
from thinker.protocol.methods import ChatRef
from thinker.protocol.names import format_turn_name

ENDED_TURNS = ("replied", "closed", "cancelled", "failed", "dead")
HOOKED = "hooks may have changed its requests, which leaves no trace"
UNCOMPARED = "it was recorded before requests could be compared"
OPEN_TURN = "it has not ended yet"
NO_CALL = "no model was called"
NO_MESSAGES = "messages of its conversation have been deleted"
NO_TIMING = CallTiming(began=0, ended=0)


class MadeCall(Frozen):
    """A tool call of a recorded response; ``digest`` is of its tool and arguments.

    Without a ``result`` it is unknown what came of it.
    """

    name: str
    arguments: JsonObject
    digest: str
    effect: bool
    result: ToolResult | None = None


class MadeRequest(Frozen):
    """A recorded request to a model and what came of it.

    ``place`` is its step's among those of the turn, ``part`` that of its prompt. ``digest`` is of
    its bytes, ``size`` their number, and ``left_out`` are fields that the model had refused; all
    are empty for a model without requests.
    """

    place: int
    part: int
    model: str
    text: str = ""
    calls: tuple[MadeCall, ...] = ()
    usage: Usage = Usage()
    usd: float | None = None
    ms: int = 0
    digest: str = ""
    size: int = 0
    left_out: tuple[str, ...] = ()


class RecordedTurn(Frozen):
    """A turn with all that its requests were made of.

    ``impossible`` says why they cannot be made again; such a turn may have no ``parts``.
    ``lacks_pictures`` tells that pictures were deleted. Times are milliseconds.
    """

    turn_id: str
    agent_id: str
    session_id: int
    scope: str
    chat: ChatRef
    senders: tuple[str, ...] = ()
    question: str = ""
    started_at: int
    ms: int = 0
    usd: float | None = None
    parts: tuple[RecordedPart, ...] = ()
    requests: tuple[MadeRequest, ...] = ()
    impossible: str = ""
    lacks_pictures: bool = False

    @property
    def calls(self) -> tuple[MadeCall, ...]:
        """All calls, in order."""
        return tuple(call for request in self.requests for call in request.calls)

    @property
    def answer(self) -> str:
        """The last words of the model."""
        return self.requests[-1].text if self.requests else ""


@dataclass(frozen=True)
class StepRow:
    """A stored response or call of a turn; ``digest`` is of a call and its arguments."""

    seq: int
    parent: int | None
    kind: str
    name: str
    effect: bool
    state: str
    arguments: Json[JsonObject] | None
    digest: str | None
    result: str | None
    usage: Json[Usage] | None
    timing: Json[CallTiming] | None
    planned_at: int


STEPS = Rows(
    StepRow,
    "step",
    "seq, parent, kind, name, class <> 'pure', state, args, args_hash, result, usage, timing,"
    " t_plan",
)


def find_turn_id(db: Database, name: str) -> str:
    """Return the id of the turn with this id, beginning or ending.

    Raises:
        UnknownNameError: no turn has it, or several have.
    """
    found = list_turns_named(db, name)
    if name in found:
        return name
    if not found:
        raise UnknownNameError(
            f"no turn's id ends with {name!r}; see orchestrator trace, or the page's Turns"
        )
    if len(found) > 1:
        several = ", ".join(map(format_turn_name, found))
        raise UnknownNameError(f"{name!r} fits several turns: {several}; write more of its id")
    return found[0]


def load_recorded_turn(db: Database, turn_id: str) -> RecordedTurn:
    """Read a turn by its whole id; it changes nothing."""
    turn = turns.load_turn(db, turn_id)
    known = sessions.load_transcript(db, turn_id)
    rows, opening = STEPS.select(db, "turn_id = ? ORDER BY seq", turn_id), known.opening_rows
    parts = list_parts(db, turn, known)
    requests = _build_requests(db, turn_id, rows, [part.at for part in parts])
    first = opening[0]
    ended = db.execute("SELECT ended_at FROM turn WHERE id = ?", (turn_id,)).get
    costs = [request.usd for request in requests if request.usd is not None]
    return RecordedTurn(
        turn_id=turn_id,
        agent_id=turn.agent_id,
        session_id=turn.session_id,
        scope=turn.scope,
        chat=ChatRef(
            channel=first.channel,
            chat_id=first.chat_id,
            thread_id=first.thread_id or None,
            private=first.private,
        ),
        senders=tuple(dict.fromkeys(f"{row.channel}:{row.sender_id}" for row in known.rows)),
        question="\n".join(row.text for row in opening),
        started_at=turn.started_at,
        ms=max(0, int(ended or turn.started_at) - turn.started_at),
        usd=sum(costs) if costs else None,
        parts=tuple(parts),
        requests=requests,
        impossible=_find_obstacle(turn, parts, requests),
        lacks_pictures=any(part.lacks_pictures for part in parts),
    )


def _find_obstacle(
    turn: Turn, parts: Sequence[RecordedPart], requests: Sequence[MadeRequest]
) -> str:
    """Return why the turn cannot be tried; empty if it can."""
    obstacles = (
        (turn.state not in ENDED_TURNS, OPEN_TURN),
        (not requests, NO_CALL),
        (not parts or not all(part.settings for part in parts), UNCOMPARED),
        (any(part.runs_hooks for part in parts), HOOKED),
        (any(part.lacks_messages for part in parts), NO_MESSAGES),
    )
    return next((reason for holds, reason in obstacles if holds), "")


def _build_requests(
    db: Database, turn_id: str, rows: Sequence[StepRow], sent_at: Sequence[int]
) -> tuple[MadeRequest, ...]:
    """Build the requests from the rows of responses and calls; ``sent_at`` is of the prompts."""
    priced = "SELECT seq, usd FROM model_call WHERE turn_id = ? AND seq IS NOT NULL"
    costs: Mapping[int, float | None] = dict(db.execute(priced, (turn_id,)).fetchall())
    responses = [row for row in rows if row.kind == "model"]
    return tuple(
        _build_request(
            row,
            tuple(_build_call(call) for call in rows if call.parent == row.seq),
            place,
            max(0, sum(at <= row.planned_at for at in sent_at) - 1),
            costs.get(row.seq),
        )
        for place, row in enumerate(responses)
        if row.name != IMMEDIATE and row.timing is not None
    )


def _build_request(
    row: StepRow, calls: tuple[MadeCall, ...], place: int, part: int, usd: float | None
) -> MadeRequest:
    timing = row.timing or NO_TIMING
    last = timing.attempts[-1] if timing.attempts else None
    return MadeRequest(
        place=place,
        part=part,
        model=row.name,
        text=str(orjson.loads(row.result or "{}").get("content", "")),
        calls=calls,
        usage=row.usage or Usage(),
        usd=usd,
        ms=timing.ended - timing.began,
        digest="" if last is None else last.digest,
        size=timing.sent if len(timing.attempts) == 1 else 0,
        left_out=() if last is None else last.left_out,
    )


def _build_call(row: StepRow) -> MadeCall:
    ended = row.result is not None and row.state in ENDED
    return MadeCall(
        name=row.name,
        arguments=row.arguments or {},
        digest=row.digest or "",
        effect=row.effect,
        result=ToolResult.model_validate_json(row.result or "") if ended else None,
    )
