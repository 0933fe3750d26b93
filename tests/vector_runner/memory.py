"""The areas memory_ranking and fact_safety."""

import re
from typing import Any

import pytest
from vector_runner.cases import Area

from orchestrator.journal.memory import fulltext
from orchestrator.journal.memory.secret_filter import detect_secret_kind

CARD_LIKE = re.compile(r"(?:\d[ -]?){13,19}")


def _rank(given: dict[str, Any]) -> Any:
    """Normalize scores, or rank two kinds of hits together; ids are numbers here."""
    if set(given) >= {"vector", "text"}:
        ranked = fulltext.merge_scores(_scores(given["vector"]), _scores(given["text"]))
        return [{"id": number, "score": score} for number, score in ranked]
    return {str(key): score for key, score in fulltext.normalize_scores(_scores(given)).items()}


def _scores(value: dict[str, float]) -> dict[int, float]:
    return {int(key): score for key, score in value.items()}


def _same(expected: Any, got: Any) -> bool:
    """Compare scores approximately."""
    if isinstance(expected, dict):
        return bool(got == pytest.approx(expected))
    return len(expected) == len(got) and all(
        ours == pytest.approx(theirs) for theirs, ours in zip(expected, got, strict=True)
    )


AREAS = {
    "memory_ranking": Area(_rank, same=_same),
    "fact_safety": Area(
        lambda given: detect_secret_kind(given) is None,
        rules={
            "check-digit": lambda case, got: got and bool(CARD_LIKE.search(case.given)),
            "said-in-words": lambda case, got: (
                not got and re.search(r"\b(?:is|was)\b", case.given) is not None
            ),
        },
    ),
}
