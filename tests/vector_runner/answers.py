"""The areas of models' answers, run with the rules of Agently 4.0.7."""

from dataclasses import asdict
from typing import Any

from vector_runner.cases import Area
from vector_runner.notation import decoded
from vector_runner.snapshots import Change, Snapshots

from orchestrator.extensions.agently.upstream import parse_upstream_answer
from thinker.answers.json_blocks import close_open_json


def _parsed(given: dict[str, Any]) -> dict[str, Any]:
    """In the vectors ``repaired`` means repaired syntax; a truncated end does not count."""
    answer = parse_upstream_answer(given["text"], tuple(decoded(given["schema"])))
    return {
        "located": answer.located,
        "completed": answer.completed,
        "parsed": answer.value,
        "repaired": answer.repair == "syntax",
    }


def _streamed(given: dict[str, Any]) -> list[dict[str, Any]]:
    stream = Snapshots(decoded(given["schema"]))
    events = [
        _event(number, change)
        for number, chunk in enumerate(given["chunks"])
        for change in stream.feed(chunk)
    ]
    return events + [_event("final", change) for change in stream.finish()]


def _event(chunk: int | str, change: Change) -> dict[str, Any]:
    return {"chunk": chunk, "is_complete": change.is_complete, **asdict(change)}


AREAS = {
    "response_parse": Area(_parsed),
    "json_completer": Area(lambda given: close_open_json(given["text"])),
    "streaming_json": Area(_streamed),
}
