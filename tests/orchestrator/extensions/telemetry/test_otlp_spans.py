"""Spans of turns, read with the definitions of OTLP."""

from pathlib import Path
from typing import Any

import orjson
from fakes.ended_turn import MODEL, SECRET, began, called, delivered, lived, replied, turn_id
from fakes.journal import booted, call, job, planned, step
from fakes.otlp_collector import values, with_bytes
from google.protobuf.json_format import ParseDict
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from orchestrator.extensions.telemetry import ended_turns, otlp_spans, row_marks
from orchestrator.extensions.telemetry.row_marks import RowMark
from orchestrator.journal.db.database import Database
from orchestrator.journal.turns import inbox, outbox, steps, subagents, turns
from orchestrator.journal.turns.outbox import Address
from orchestrator.journal.turns.subagents import SubagentSpec
from orchestrator.journal.turns.turns import TurnAdmission
from thinker.protocol.messages import ToolResult

NOW = 9_000_000_000_000
MS = 1_000_000  # nanoseconds


def found(db: Database) -> list[Span]:
    """The spans of everything that has ended."""
    work = ended_turns.load_ended_work(db, RowMark(), 1000, NOW, row_marks.find_settled_ids(db))
    made = [span for end in work.ends for span in otlp_spans.build_spans(end)]
    assert SECRET not in orjson.dumps(made).decode()
    return [ParseDict(with_bytes(span), Span()) for span in made]


def by_name(spans: list[Span]) -> dict[str, Span]:
    """Spans whose names differ."""
    assert len({span.name for span in spans}) == len(spans)
    return {span.name: span for span in spans}


def lasted(span: Span) -> tuple[int, int]:
    """Beginning and end in milliseconds."""
    return span.start_time_unix_nano // MS, span.end_time_unix_nano // MS


def attribute(span: Span, name: str) -> Any:
    """The value of one attribute; None if there is none."""
    return values(span.attributes).get(name)


def test_turn_is_a_trace_of_all_that_took_time(tmp_path: Path) -> None:
    """Queue, model with its retry, wait for a person, tool, delivery; all below the turn."""
    with booted(tmp_path) as db:
        turn = began(db, 1)
        called(db, turn, approved=True)
        db.execute("UPDATE turn SET ready_at = 900")
        replied(db, turn)
        delivered(db)
        spans = by_name(found(db))
    assert set(spans) == {
        *("invoke_agent work", "wait in line", "wake worker", "chat qwen/qwen3-32b"),
        *("wait for approval", "execute_tool pay", "deliver telegram"),
    }
    root = spans.pop("invoke_agent work")
    assert {span.trace_id.hex() for span in (root, *spans.values())} == {turn_id(1)}
    assert root.parent_span_id == b""
    assert {span.parent_span_id for span in spans.values()} == {root.span_id}
    assert len({span.span_id for span in (root, *spans.values())}) == 7
    assert {name: lasted(span) for name, span in spans.items() if "deliver" not in name} == {
        "wait in line": (500, 800),
        "wake worker": (800, 900),
        "chat qwen/qwen3-32b": (1000, 3000),
        "wait for approval": (3000, 4000),
        "execute_tool pay": (4000, 5000),
    }
    assert lasted(root)[0] == 500
    assert all(lasted(root)[1] >= lasted(span)[1] for span in spans.values())
    assert all(span.status.code == Status.STATUS_CODE_UNSET for span in (root, *spans.values()))


def test_model_call_follows_the_conventions_for_generative_models(tmp_path: Path) -> None:
    """Its retry is an event with the status, and without what the provider said."""
    with booted(tmp_path) as db:
        lived(db, 1)
        spans = by_name(found(db))
    chat, root = spans["chat qwen/qwen3-32b"], spans["invoke_agent work"]
    assert chat.kind == Span.SPAN_KIND_CLIENT
    assert values(chat.attributes) | {"gen_ai.response.finish_reasons": None} == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "groq",
        "gen_ai.agent.name": "work",
        "gen_ai.request.model": "qwen/qwen3-32b",
        "gen_ai.response.model": "qwen/qwen3-32b",
        "gen_ai.response.finish_reasons": None,
        "gen_ai.response.time_to_first_chunk": 0.7,
        "gen_ai.usage.input_tokens": 900,
        "gen_ai.usage.cache_read.input_tokens": 400,
        "gen_ai.usage.output_tokens": 20,
        "orchestrator.cost.usd": 0.25,
    }
    (retry,) = chat.events
    assert (retry.name, retry.time_unix_nano) == ("retry", 1400 * MS)
    assert values(retry.attributes) == {
        "gen_ai.request.model": "qwen/qwen3-32b",
        "http.response.status_code": 429,
        "orchestrator.attempt.ms": 400,
    }
    assert attribute(root, "gen_ai.operation.name") == "invoke_agent"
    assert attribute(root, "gen_ai.usage.input_tokens") == 900
    assert attribute(root, "orchestrator.turn.stop_reason") == "done"
    tool = spans["execute_tool pay"]
    assert attribute(tool, "gen_ai.tool.name") == "pay"


def test_failure_is_seen_where_it_happened(tmp_path: Path) -> None:
    """A tool that failed, a delivery that may not have arrived, a turn without an answer."""
    with booted(tmp_path) as db:
        turn = began(db, 1)
        (read,) = planned(db, turn.id, "read")
        with job(db):
            steps.mark_intent(db, turn.id, read.seq, 1, 10)
            result = ToolResult(call_id="c0", name="read", content=SECRET, is_error=True)
            steps.finish(db, call(db, turn.id, read.seq), result, 20)
        replied(db, turn, "model_error")
        with job(db):
            (row,) = outbox.list_due_rows(db, "telegram")
            outbox.mark_sending(db, row.id, "sending", 6000)
            outbox.mark_unconfirmed(db, row.id, "cut", 6000, 0)
        spans = by_name(found(db))
    failed = {
        name: attribute(span, "error.type")
        for name, span in spans.items()
        if span.status.code == Status.STATUS_CODE_ERROR
    }
    assert failed == {
        "invoke_agent work": "model_error",
        "execute_tool read": "failed",
        "deliver telegram": "unknown",
    }


def test_call_that_never_ran_took_no_time(tmp_path: Path) -> None:
    """A response that was not measured begins where the step before it ended."""
    with booted(tmp_path) as db:
        turn = began(db, 1)
        with job(db):
            steps.plan(db, step(turn.id, "x" * 900, rejected="no such tool"), {}, 1, 2000)
        replied(db, turn)
        delivered(db)
        spans = by_name(found(db))
    assert lasted(spans["chat demo"]) == (800, 2000)
    (tool,) = (span for name, span in spans.items() if name.startswith("execute_tool"))
    assert (lasted(tool), len(tool.name)) == ((2000, 2000), 200)
    assert attribute(tool, "orchestrator.tool.ran") == "no"


def test_subagent_is_linked_to_the_call_that_it_works_for(tmp_path: Path) -> None:
    """It has a trace of its own."""
    with booted(tmp_path) as db:
        turn = began(db, 1)
        (spawn,) = planned(db, turn.id, "spawn_subagent")
        with job(db):
            steps.mark_intent(db, turn.id, spawn.seq, 1, 10)
            address = Address("telegram", "1", f"{SECRET}1")
            name = subagents.create(db, spawn, "work", SubagentSpec(), 10)
            subagents.begin_run(db, spawn, name, address, SECRET, 10, wait=True)
            row = inbox.find_oldest_new(db, subagents.QUEUE + name)
            admission = TurnAdmission(turn_id(2), "work", 1, 15, "1", "subagent")
            work = turns.admit_message(db, row, admission, 20) if row is not None else None
            assert work is not None
            turns.end_with_reply(db, work, (), "direct", ("done", None), 30)
            subagents.end_run(db, work.id, SECRET, 30, failed=False)
            result = ToolResult(call_id="c0", name="spawn_subagent", content=SECRET)
            steps.finish(db, call(db, turn.id, spawn.seq), result, 40)
        replied(db, turn)
        delivered(db)
        spans = found(db)
    roots = {span.trace_id.hex(): span for span in spans if not span.parent_span_id}
    assert set(roots) == {turn_id(1), turn_id(2)}
    (link,) = roots[turn_id(2)].links
    (called_by,) = [span for span in spans if span.name == "execute_tool spawn_subagent"]
    assert (link.trace_id, link.span_id) == (called_by.trace_id, called_by.span_id)
    assert not roots[turn_id(1)].links


def test_ids_depend_on_the_turn_alone(tmp_path: Path) -> None:
    """Read twice, the spans are the same; a turn's id of another form has one too."""
    with booted(tmp_path) as db:
        lived(db, 1)
        assert found(db) == found(db)
    assert otlp_spans.make_trace_id(turn_id(7)) == turn_id(7)
    for odd in ("t1", "0" * 32, turn_id(7).upper() + "A", MODEL):
        made = otlp_spans.make_trace_id(odd)
        assert (len(made), int(made, 16) > 0, made != odd) == (32, True, True)
    assert len({otlp_spans.make_span_id("t1", part) for part in ("", "step 1", "step 11")}) == 3
