"""Paths exist in an answer, or are named as missing."""

import pytest
from pydantic import JsonValue

from thinker.answers.paths import missing

DATA: JsonValue = {"a": {"b": [{"c": 1}, {"c": None}]}, "d": [[1], [2]], "e.f": 0}


@pytest.mark.parametrize(
    "path", ["a", "a.b", "a.b[*].c", "a.b[].c", "a.b[0].c", "a.b[-1].c", "d[*][0]", "a.b[0]"]
)
def test_path_that_exists_is_not_missing(path: str) -> None:
    """None is a value; every item must have what follows ``[*]``."""
    assert missing(DATA, [path]) == ()


@pytest.mark.parametrize(
    "path", ["x", "a.x", "a.b[*].x", "a.b[2].c", "a[0]", "a.b.c", "d[x]", "e.f"]
)
def test_path_that_does_not_exist_is_missing(path: str) -> None:
    """Missing paths keep their order."""
    assert missing(DATA, ["a", path]) == (path,)
