"""Show recorded turns and trials in the form of the wire."""

from collections.abc import Sequence

from orchestrator.control.trials import (
    TrialReport,
    TriedCall,
    TriedStep,
    TriedTurn,
    TurnRecord,
)
from orchestrator.extensions.workbench.fidelity import (
    Judgement,
    describe_differences,
    is_alike,
)
from orchestrator.extensions.workbench.matching import CallMatcher, shorten_result
from orchestrator.extensions.workbench.recorded_turns import RecordedTurn
from orchestrator.extensions.workbench.trial_rows import TrialRow, TrialRunRow, TrialSums


def describe_recorded_turn(turn: RecordedTurn) -> TurnRecord:
    """Return what happened in a recorded turn."""
    matcher = CallMatcher(())
    steps = []
    for request in turn.requests:
        calls = []
        for call in request.calls:
            key = matcher.record_call(call.name, call.digest, effect=call.effect)
            calls.append(
                TriedCall(
                    name=call.name,
                    arguments=call.arguments,
                    key=key.format_key(),
                    effect=call.effect,
                    source="none" if call.result is None else "recorded",
                    result="" if call.result is None else shorten_result(call.result.content),
                    failed=call.result is not None and call.result.is_error,
                )
            )
        used = request.usage
        steps.append(
            TriedStep(
                model=request.model,
                text=request.text,
                calls=tuple(calls),
                prompt=used.prompt,
                completion=used.completion,
                cached=used.cached,
                usd=request.usd,
                ms=request.ms,
            )
        )
    return build_record(turn.question, steps)


def list_kept_steps(turn: RecordedTurn, count: int) -> tuple[TriedStep, ...]:
    """Return the first steps of a turn as a run has them that keeps so many: at no cost."""
    unpaid = {"prompt": 0, "completion": 0, "cached": 0, "usd": None, "ms": 0}
    kept = describe_recorded_turn(turn).steps[:count]
    return tuple(step.model_copy(update=unpaid) for step in kept)


def build_record(question: str, steps: Sequence[TriedStep]) -> TurnRecord:
    """Return the record of a run with these steps."""
    costs = [step.usd for step in steps if step.usd is not None]
    ended = bool(steps) and not steps[-1].calls
    return TurnRecord(
        question=question,
        steps=tuple(steps),
        answer=steps[-1].text if ended else "",
        usd=sum(costs) if costs else None,
        ms=sum(step.ms for step in steps),
    )


def build_tried_turn(
    turn: RecordedTurn, nth: int, tried: TurnRecord, judgement: Judgement, *, done: bool = True
) -> TriedTurn:
    """Return one run of a turn beside its record."""
    recorded = describe_recorded_turn(turn)
    ran = judgement.fidelity != "impossible"
    whole = judgement.fidelity not in ("stopped", "impossible")
    return TriedTurn(
        turn_id=turn.turn_id,
        nth=nth,
        done=done,
        fidelity=judgement.fidelity,
        reason=judgement.reason,
        alike=is_alike(tried, recorded) if whole else None,
        effects=describe_differences(tried, recorded, effects=True) if ran else (),
        calls=describe_differences(tried, recorded, effects=False) if ran else (),
        tried=tried,
        recorded=recorded,
    )


def build_report(row: TrialRow, sums: TrialSums, runs: Sequence[TrialRunRow] = ()) -> TrialReport:
    """Return a trial, with these runs of its turns."""
    request = row.change.request
    return TrialReport(
        id=row.id,
        kind=request.kind,
        agent_id=row.agent_id,
        state=row.state,
        change=request.change,
        note=row.note,
        by=row.by_user,
        at=row.made_at,
        turns=tuple(run.result.tried for run in runs),
        waiting=len(request.turns) * request.times - sums.done,
        usd=sums.usd,
        tokens=sums.tokens,
        limit_usd=row.limit_usd,
        limit_tokens=row.limit_tokens,
    )
