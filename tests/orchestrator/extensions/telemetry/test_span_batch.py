"""Ended turns become requests of a bounded size."""

from pathlib import Path

import orjson
import pytest
from fakes.ended_turn import began, called, delivered, lived, replied
from fakes.journal import address_of, booted

from orchestrator.extensions.telemetry import span_batch
from orchestrator.extensions.telemetry.otlp_json import OtlpObject, build_resource
from orchestrator.extensions.telemetry.row_marks import RowMark
from orchestrator.extensions.telemetry.span_batch import BatchReader, SpanBatch

NOW = 9_000_000_000_000
ABOUT = build_resource("", {"host.name": "box"})


def reader(folder: Path) -> BatchReader:
    """Of a folder's journal, for requests that are not compressed."""
    return BatchReader(address_of(folder), ABOUT, lambda body: body)


def ids(batch: SpanBatch) -> list[list[str]]:
    """The ids of each request's spans."""
    found = []
    for request in batch.requests:
        (one,) = orjson.loads(request.body)["resourceSpans"]
        assert one["resource"] == ABOUT
        (scope,) = one["scopeSpans"]
        assert scope["scope"]["name"] == "orchestrator"
        assert len(scope["spans"]) == request.spans
        found.append([span["spanId"] for span in scope["spans"]])
    return found


def test_batch_is_the_same_until_the_mark_moves(tmp_path: Path) -> None:
    """The next one begins where it ended."""
    with booted(tmp_path) as db:
        for number in (1, 2, 3):
            lived(db, number)
        first = reader(tmp_path).read_batch(RowMark(), 2, NOW)
        assert first == reader(tmp_path).read_batch(RowMark(), 2, NOW)
        assert (first.ends, len(first.requests)) == (2, 1)
        rest = reader(tmp_path).read_batch(first.mark, 64, NOW)
        assert rest.ends == 4
        every = [span for batch in (first, rest) for group in ids(batch) for span in group]
        assert len(every) == len(set(every)) == 3 * 5
        end = reader(tmp_path).read_batch(rest.mark, 64, NOW)
        assert (end.ends, end.requests, end.mark.id) == (0, [], rest.mark.id)


@pytest.mark.parametrize(("limit", "value"), [("MAX_SPANS", 3), ("MAX_BYTES", 2500)])
def test_large_turn_is_sent_in_several_requests(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, value: int
) -> None:
    """By the number of spans and by their size; each span once."""
    monkeypatch.setattr(span_batch, limit, value)
    with booted(tmp_path) as db:
        turn = began(db, 1)
        for _ in range(5):
            called(db, turn)
        replied(db, turn)
        delivered(db)
        batch = reader(tmp_path).read_batch(RowMark(), 64, NOW)
    assert len(batch.requests) > 3
    every = [span for group in ids(batch) for span in group]
    assert len(every) == len(set(every)) == 13
    if limit == "MAX_SPANS":
        assert max(request.spans for request in batch.requests) == value
    else:
        largest = max(len(request.body) for request in batch.requests)
        assert largest < value + len(orjson.dumps(ABOUT)) + 200


def test_resource_says_what_the_operator_says() -> None:
    """The variable of the service's name wins over the attribute."""

    def texts(found: OtlpObject) -> dict[str, str]:
        values = orjson.loads(orjson.dumps(found))["attributes"]
        return {one["key"]: one["value"]["stringValue"] for one in values}

    assert texts(build_resource("", {}))["service.name"] == "orchestrator"
    assert texts(build_resource("", {"service.name": "a"}))["service.name"] == "a"
    assert texts(build_resource("b", {"service.name": "a", "x": "y"}))["service.name"] == "b"
    assert texts(build_resource("b", {"service.name": "a", "x": "y"}))["x"] == "y"
