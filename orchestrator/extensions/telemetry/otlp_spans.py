"""Build the OTLP spans of an ended turn.

Their ids are derived from turn and step, so a span that is sent twice is the same. Spans contain
no message text, arguments or chat names.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from orchestrator.extensions.telemetry.ended_turns import (
    DeliveryEnd,
    TracedStep,
    TracedTurn,
    TurnEnd,
)
from orchestrator.extensions.telemetry.otlp_json import (
    MAX_CHARACTERS,
    OtlpObject,
    Value,
    build_attributes,
    format_nanoseconds,
)
from orchestrator.journal.turns.steps import IMMEDIATE
from thinker.protocol.call_timing import CallAttempt
from thinker.protocol.methods import StopReason

INTERNAL, CLIENT = 1, 3  # opentelemetry.proto.trace.v1.Span.SpanKind
ERROR = 2  # opentelemetry.proto.trace.v1.Status.StatusCode
TRACE_ID = re.compile(r"(?!0{32})[0-9a-f]{32}")
UNANSWERED = frozenset(
    {
        StopReason.MODEL_ERROR,
        StopReason.DEADLINE,
        StopReason.EMPTY,
        StopReason.OUTPUT,
        StopReason.OVERFLOW,
        StopReason.TOOL_CHOICE,
        "dead",
        "failed",
    }
)


class SpanTimes(NamedTuple):
    """Beginning and end in milliseconds."""

    began: int
    ended: int


def make_trace_id(turn_id: str) -> str:
    """Return the trace id of a turn, which is the turn's own id."""
    if TRACE_ID.fullmatch(turn_id):
        return turn_id
    return hashlib.sha256(turn_id.encode()).hexdigest()[:32]


def make_span_id(turn_id: str, part: str) -> str:
    """Return the span id of a part of a turn's trace, such as ``step 3``."""
    return hashlib.sha256(f"{turn_id} {part}".encode()).hexdigest()[:16]


def build_spans(end: TurnEnd | DeliveryEnd) -> Iterator[OtlpObject]:
    """Yield the spans of a turn, or of a delivery within its turn's trace."""
    if isinstance(end, DeliveryEnd):
        yield _build_delivery_span(end)
        return
    turn = end.turn
    came = turn.began if turn.came is None else min(turn.came, turn.began)
    yield _build_root_span(end, SpanTimes(came, end.at))
    if came < turn.began:
        yield _build_span(turn.id, "queue", "wait in line", SpanTimes(came, turn.began))
    if turn.ready is not None:
        yield _build_span(turn.id, "wake", "wake worker", SpanTimes(turn.began, turn.ready))
    last = turn.began if turn.ready is None else turn.ready
    for step in end.steps:
        if step.kind == "tool":
            yield from _build_tool_spans(turn, step)
        elif step.name != IMMEDIATE:
            yield _build_model_span(turn, step, end.usd.get(step.seq), last)
        last = step.ended or step.planned


def _build_root_span(end: TurnEnd, times: SpanTimes) -> OtlpObject:
    turn = end.turn
    failure = next((why for why in (turn.stop_reason, turn.state) if why in UNANSWERED), None)
    values: dict[str, Value | None] = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": turn.agent_id,
        "gen_ai.conversation.id": str(turn.session_id),
        "gen_ai.usage.input_tokens": sum(step.prompt or 0 for step in end.steps),
        "gen_ai.usage.output_tokens": sum(step.completion or 0 for step in end.steps),
        "orchestrator.turn.id": turn.id,
        "orchestrator.turn.recipe": turn.recipe,
        "orchestrator.turn.state": turn.state,
        "orchestrator.turn.stop_reason": turn.stop_reason,
        "orchestrator.turn.process_deaths": turn.deaths,
        "orchestrator.channel": turn.channel,
        "orchestrator.cost.usd": sum(end.usd.values()) if end.usd else None,
    }
    span = _build_span(turn.id, "", f"invoke_agent {turn.agent_id}", times, values, failure)
    if turn.parent_id is not None:
        ids = make_trace_id(turn.parent_id), make_span_id(turn.parent_id, f"step {turn.parent_seq}")
        span["links"] = [dict(zip(("traceId", "spanId"), ids, strict=True))]
    return span


def _build_model_span(
    turn: TracedTurn, step: TracedStep, usd: float | None, last: int
) -> OtlpObject:
    """Build a model call's span; an unmeasured one begins after the step before."""
    timing = step.timing
    attempts = () if timing is None else timing.attempts
    asked = attempts[-1].model if attempts else step.name
    provider, _, model = asked.partition("/") if "/" in asked else ("", "", asked)
    times = SpanTimes(last, step.ended or step.planned)
    first = None
    if timing is not None:
        times = SpanTimes(timing.began, timing.ended)
        first = None if timing.first is None else (timing.first - timing.began) / 1000
    values: dict[str, Value | None] = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": provider,
        "gen_ai.agent.name": turn.agent_id,
        "gen_ai.request.model": model,
        "gen_ai.response.model": step.name.removeprefix(f"{provider}/"),
        "gen_ai.response.finish_reasons": (step.finish,) if step.finish else (),
        "gen_ai.response.time_to_first_chunk": first,
        "gen_ai.usage.input_tokens": step.prompt,
        "gen_ai.usage.cache_read.input_tokens": step.cached,
        "gen_ai.usage.output_tokens": step.completion,
        "orchestrator.cost.usd": usd,
    }
    span = _build_span(turn.id, f"step {step.seq}", f"chat {model}", times, values, kind=CLIENT)
    events = [_build_retry_span(attempt) for attempt in attempts if attempt.error]
    return {**span, "events": events} if events else span


def _build_retry_span(attempt: CallAttempt) -> OtlpObject:
    values = {
        "gen_ai.request.model": attempt.model.partition("/")[2],
        "http.response.status_code": attempt.status,
        "orchestrator.attempt.ms": attempt.ended - attempt.began,
    }
    at = format_nanoseconds(attempt.ended)
    return {"timeUnixNano": at, "name": "retry", "attributes": build_attributes(values)}


def _build_tool_spans(turn: TracedTurn, step: TracedStep) -> Iterator[OtlpObject]:
    """Yield the span of a call, and of its wait for a person."""
    ended = step.ended or turn.ended
    if step.asked is not None:
        times = SpanTimes(step.asked, step.decided or ended)
        values = {"gen_ai.tool.name": step.name, "orchestrator.approval": step.verdict}
        yield _build_span(turn.id, f"wait {step.seq}", "wait for approval", times, values)
    failure = step.state if step.state in ("failed", "unknown") else None
    values = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.agent.name": turn.agent_id,
        "gen_ai.tool.name": step.name,
        "orchestrator.tool.ran": "no" if step.began is None else "yes",
    }
    times = SpanTimes(ended if step.began is None else step.began, ended)
    yield _build_span(
        turn.id, f"step {step.seq}", f"execute_tool {step.name}", times, values, failure
    )


def _build_delivery_span(end: DeliveryEnd) -> OtlpObject:
    sent = end.message
    failure = end.state if end.state in ("unknown", "failed_permanent") else None
    values: dict[str, Value | None] = {
        "orchestrator.channel": sent.channel,
        "orchestrator.delivery.state": end.state,
        "orchestrator.delivery.attempts": sent.attempts,
    }
    times, name = SpanTimes(sent.queued, end.at), f"deliver {sent.channel}"
    return _build_span(sent.turn_id, f"part {sent.part}", name, times, values, failure, kind=CLIENT)


def _build_span(
    turn_id: str,
    part: str,
    name: str,
    times: SpanTimes,
    values: Mapping[str, Value | None] | None = None,
    failure: str | None = None,
    *,
    kind: int = INTERNAL,
) -> OtlpObject:
    """Build a span; an empty ``part`` is the whole turn, the parent of all others."""
    began = times.began
    span: OtlpObject = {
        "traceId": make_trace_id(turn_id),
        "spanId": make_span_id(turn_id, part),
        "name": name[:MAX_CHARACTERS],
        "kind": kind,
        "startTimeUnixNano": format_nanoseconds(began),
        "endTimeUnixNano": format_nanoseconds(max(began, times.ended)),
        "attributes": build_attributes({**(values or {}), "error.type": failure}),
    }
    if part:
        span["parentSpanId"] = make_span_id(turn_id, "")
    if failure is not None:
        span["status"] = {"code": ERROR}
    return span
