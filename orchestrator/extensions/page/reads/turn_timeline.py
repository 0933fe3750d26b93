"""The timeline of one turn: durations, and what went wrong."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from orchestrator.extensions.page.reads import call_verdicts
from orchestrator.extensions.page.reads.call_verdicts import CallVerdict
from orchestrator.journal.db.database import Database, Rows
from orchestrator.journal.inspect import trace
from orchestrator.journal.inspect.turn_search import FoundTurn, list_turns_by_id
from orchestrator.journal.turns import approvals, degradations, receipts, turns
from orchestrator.journal.turns.approvals import Approval
from orchestrator.journal.turns.receipts import AnswerReceipt
from thinker.protocol.call_timing import CallTiming
from thinker.protocol.degradations import Degradation

MAX_TEXT = 65_536  # characters of a text
LOST = turns.LOST_WORKER
LONG_WAKE_MS = 1000  # no worker takes so long to be ready
SAME_DEATH = 5000  # milliseconds between the loss of a worker and its count as a death


class TimelineBar(NamedTuple):
    """A span of time; ``kind`` is its class, times are in milliseconds.

    ``measured`` is False where only the end is known; ``failed`` says that there was no result.
    ``step`` is the number of its step, ``first`` the instant of a model's first word.
    """

    name: str
    kind: str
    began: int
    ended: int
    about: str = ""
    measured: bool = True
    failed: bool = False
    open: bool = False  # it goes on
    step: int | None = None
    first: int | None = None


class TimelineMark(NamedTuple):
    """An instant worth a mark: a death, an adoption."""

    at: int
    text: str


@dataclass(frozen=True)
class TimelineStep:
    """A stored step; times in milliseconds."""

    seq: int
    kind: str
    name: str
    side_effect: str
    state: str
    arguments: str | None
    result: str | None
    idem_key: str | None
    request_id: str | None
    planned: int
    began: int | None
    ended: int | None
    timing: str | None

    @property
    def call_timing(self) -> CallTiming | None:
        return None if self.timing is None else CallTiming.model_validate_json(self.timing)


class ModelCost(NamedTuple):
    """The usage of a step's model call."""

    model: str
    prompt: int
    completion: int
    cached: int
    usd: float | None


class TurnTimeline(NamedTuple):
    """A turn with everything that belongs to it; ``older`` and ``newer`` are turns of the chat."""

    turn: FoundTurn
    message: int | None
    problem: str | None
    came: int
    bars: list[TimelineBar]
    marks: list[TimelineMark]
    steps: list[TimelineStep]
    costs: dict[int, ModelCost]
    approvals: dict[int, Approval]
    verdicts: dict[int, CallVerdict]
    older: str | None
    newer: str | None
    degraded: list[Degradation]
    asked: str = ""  # the whole question
    receipt: AnswerReceipt | None = None


@dataclass(frozen=True)
class _Stored:
    """The rest of a turn, and its first message."""

    ready_at: int | None
    error: str | None
    session_id: int
    message: int | None
    received_at: int | None


STORED = Rows(
    _Stored,
    "turn LEFT JOIN inbox ON inbox.turn_id = turn.id",
    "turn.ready_at, turn.error, turn.session_id, min(inbox.id), min(inbox.received_at)",
)
STEPS = Rows(
    TimelineStep,
    "step",
    f"seq, kind, name, class, {approvals.CALL_STATE}, substr(args, 1, {MAX_TEXT}),"
    f" substr(result, 1, {MAX_TEXT}), idem_key, request_id, t_plan, t_intent, t_end, timing",
)


def find_turn_timeline(db: Database, turn_id: str, now: int) -> TurnTimeline | None:
    """Return the timeline of a turn; None if it does not exist."""
    found = list_turns_by_id(db, [turn_id])
    if not found:
        return None
    turn = found[0]
    (stored,) = STORED.select(db, "turn.id = ? GROUP BY turn.id", turn_id)
    came = stored.received_at or turn.began
    ready, message = stored.ready_at, stored.message
    steps = STEPS.select(db, "turn_id = ? ORDER BY seq", turn_id)
    asked = {item.seq: item for item in approvals.list_approvals_of_turn(db, turn_id)}
    waits, marks = dict(_list_waits(db, turn_id)), list(_build_marks(db, turn_id, message))
    since, until = turn.began if ready is None else ready, turn.ended or now
    work = [*_build_step_bars(steps, waits, until, since)]
    work += _build_cut_off_bars(work, marks, since)
    work += _build_last_bar(
        turn, stored.error, max((bar.ended for bar in work), default=since), until, work
    )
    costs = _load_costs(db, turn_id)
    if not steps and not costs:  # no model was asked, so none failed
        work = [bar._replace(name="start", kind="wake") if bar.failed else bar for bar in work]
    bars = [
        TimelineBar("line", "queue", came, turn.began, "waited for its turn"),
        *([_build_wake_bar(turn.began, ready)] if ready else []),
        *sorted(work, key=lambda bar: bar.began),
        *_build_delivery_bars(db, turn_id, now),
    ]
    return TurnTimeline(
        turn=turn,
        message=message,
        problem=stored.error,
        came=came,
        bars=[bar for bar in bars if bar.kind != "queue" or bar.ended > bar.began],
        marks=marks,
        steps=steps,
        costs=costs,
        approvals=asked,
        verdicts=call_verdicts.load_verdicts_of_turn(db, turn_id),
        older=_find_neighbour_turn(db, stored.session_id, turn.began, "<", "DESC"),
        newer=_find_neighbour_turn(db, stored.session_id, turn.began, ">", "ASC"),
        degraded=[one for _, one in degradations.list_degradations_of_turn(db, turn_id)],
        asked=_load_question(db, turn_id),
        receipt=receipts.load_receipt(db, turn_id),
    )


def _load_question(db: Database, turn_id: str) -> str:
    sql = f"SELECT substr(text, 1, {MAX_TEXT}) FROM inbox WHERE turn_id = ? ORDER BY id LIMIT 1"
    return str(db.execute(sql, (turn_id,)).get or "")


def find_turn_of_message(db: Database, message: int) -> str | None:
    """Return the newest turn of a message, by its number in the inbox."""
    found = db.execute("SELECT turn_id FROM inbox WHERE id = ?", (message,)).get
    return None if found is None else str(found)


def find_newest_turn(db: Database, beginning: str) -> str | None:
    """Return the newest turn whose id begins or ends with ``beginning``."""
    return max(trace.list_turns_named(db, beginning), default=None)


def _build_step_bars(
    steps: list[TimelineStep], waits: dict[int, tuple[int, int | None, str]], now: int, since: int
) -> Iterator[TimelineBar]:
    last = since
    for step in steps:
        timing = step.call_timing
        if step.kind == "model" and timing is not None:
            yield from (
                bar._replace(step=step.seq) for bar in _build_attempt_bars(step.name, timing)
            )
        elif step.kind == "model":
            end = step.ended or step.planned
            yield TimelineBar(
                step.name, "model", last, end, "not measured", measured=False, step=step.seq
            )
        else:
            if step.seq in waits:
                asked, decided, who = waits[step.seq]
                going = decided is None and step.ended is None
                end = decided or step.ended or now
                yield TimelineBar(step.name, "person", asked, end, who, open=going, step=step.seq)
            if step.began is not None:
                yield TimelineBar(
                    step.name,
                    "tool",
                    step.began,
                    step.ended or now,
                    step.state,
                    failed=step.state in ("failed", "unknown"),
                    open=step.ended is None,
                    step=step.seq,
                )
        last = step.ended or step.planned


def _build_attempt_bars(name: str, timing: CallTiming) -> Iterator[TimelineBar]:
    """Yield a model call: failed attempts, the pauses after them, and the last attempt."""
    began = timing.began
    for attempt in timing.attempts:
        if not attempt.error:
            continue
        if attempt.began > began:
            yield TimelineBar("pause", "retry", began, attempt.began, "before the next attempt")
        yield TimelineBar(
            attempt.model, "model", attempt.began, attempt.ended, attempt.error, failed=True
        )
        began = attempt.ended
    answered = next((one.began for one in timing.attempts[::-1] if not one.error), began)
    if began > timing.began and answered > began:
        yield TimelineBar("pause", "retry", began, answered, "before the next attempt")
        began = answered
    first = timing.first
    about = "" if first is None else f"first word after {first - began} ms"
    yield TimelineBar(name, "model", began, timing.ended, about, first=first)


def _build_wake_bar(began: int, ready: int) -> TimelineBar:
    about = "the worker took it"
    if ready - began > LONG_WAKE_MS:
        about = "waited for its process, or for other turns to end"
    return TimelineBar("wake", "wake", began, ready, about)


def _build_cut_off_bars(
    work: list[TimelineBar], marks: list[TimelineMark], since: int
) -> Iterator[TimelineBar]:
    """Yield the interrupted work of a lost worker, where no call is recorded."""
    for mark in marks:
        if not any(bar.began < mark.at <= bar.ended for bar in work):
            last = max((bar.ended for bar in work if bar.ended < mark.at), default=since)
            yield TimelineBar("model", "model", last, mark.at, "cut off", failed=True)
        since = mark.at


def _build_last_bar(
    turn: FoundTurn, problem: str | None, last: int, until: int, work: list[TimelineBar]
) -> Iterator[TimelineBar]:
    """Yield the current work of a turn, or its last one if it failed."""
    if any(bar.open for bar in work) or until <= last:
        return
    if turn.state == "running":
        yield TimelineBar("model", "model", last, until, open=True)
    elif turn.state == "waiting":
        yield TimelineBar("waits", "person", last, until, open=True)
    elif turn.state != "replied" and turn.stop_reason not in (None, "done"):
        about = problem or turn.stop_reason or ""
        yield TimelineBar("model", "model", last, until, about, failed=True)


def _list_waits(db: Database, turn_id: str) -> Iterator[tuple[int, tuple[int, int | None, str]]]:
    rows = db.execute(
        "SELECT seq, asked_at, decided_at, by_user, state FROM approval WHERE turn_id = ?"
        " AND asked_with IS NULL",
        (turn_id,),
    )
    for seq, asked, decided, by, state in rows:
        yield seq, (asked, decided, f"waited for {by or 'a person'}: {state}")


def _build_delivery_bars(db: Database, turn_id: str, now: int) -> Iterator[TimelineBar]:
    rows = db.execute(
        "SELECT channel, state, error, created_at, ended_at FROM outbox WHERE turn_id = ?"
        " AND final = 1 ORDER BY id LIMIT 50",
        (turn_id,),
    )
    for channel, state, error, made, ended in rows:
        yield TimelineBar(
            f"to {channel}",
            "send",
            made,
            ended or now,
            f"{state} {error or ''}".strip(),
            failed=state in ("unknown", "failed_permanent"),
            open=ended is None,
        )


def _build_prefix_condition(words: str) -> str:
    return f"substr(note, 1, {len(words)}) = '{words}'"


def _build_marks(db: Database, turn_id: str, message: int | None) -> Iterator[TimelineMark]:
    rows = db.execute(
        "SELECT at, note FROM transition WHERE (turn_id = ?1 OR kind = 'inbox' AND number = ?2)"
        f" AND ({' OR '.join(map(_build_prefix_condition, ('process death', 'adopted', LOST)))})"
        " ORDER BY id",
        (turn_id, message),
    )
    lost = None
    for at, note in rows:
        if note.startswith("adopted"):
            yield TimelineMark(at, f"the daemon restarted and continued ({note})")
        elif note.startswith(LOST):
            lost = at
            yield TimelineMark(
                at,
                f"the worker died ({note.removeprefix(LOST)}); a new one continued after the last"
                " step",
            )
        elif lost is None or at - lost > SAME_DEATH:
            number = note.rpartition(" ")[2]
            yield TimelineMark(
                at, f"the worker died (death {number}); a new one continued after the last step"
            )


def _load_costs(db: Database, turn_id: str) -> dict[int, ModelCost]:
    rows = db.execute(
        "SELECT ifnull(seq, -id), model, prompt, completion, cached, usd FROM model_call"
        " WHERE turn_id = ?",
        (turn_id,),
    )
    return {int(seq): ModelCost(*row) for seq, *row in rows}


def _find_neighbour_turn(
    db: Database, session: int, began: int, side: str, order: str
) -> str | None:
    found = db.execute(
        f"SELECT id FROM turn WHERE session_id = ? AND started_at {side} ?"
        f" ORDER BY started_at {order}, rowid {order} LIMIT 1",
        (session, began),
    ).get
    return None if found is None else str(found)
