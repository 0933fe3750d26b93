"""A contract accepts an answer that fits, and names the problems of one that does not."""

import pytest
from pydantic import JsonValue

from thinker.answers.contract import AnswerContract, list_missing_paths
from thinker.answers.verdict import AnswerAccepted, AnswerRejected
from thinker.prompt.render.output_contract import output_model

DATA: JsonValue = {"a": {"b": [{"c": 1}, {"c": None}]}, "d": [[1], [2]], "e.f": 0}


def test_fitting_answer_becomes_an_object_of_the_contract() -> None:
    """Types are coerced and defaults filled in; a repaired answer is marked."""
    contract = AnswerContract(
        output_model({"n": (int,), "tags": ([str], "t"), "x": (str, "d", "-")})
    )
    verdict = contract.validate_answer('Here: {"n": "3", "tags": "a"}')
    assert verdict == AnswerAccepted({"n": 3, "tags": ["a"], "x": "-"}, repaired=False)
    assert contract.validate_answer('{"tags": [], "n": 3').repaired  # type: ignore[union-attr]  # accepted


def test_answer_that_does_not_fit_is_rejected_with_the_places() -> None:
    """The text is for the model."""
    contract = AnswerContract(output_model({"a": (int,), "items": [{"id": (int,)}]}))
    verdict = contract.validate_answer('{"a": "x", "items": [{"id": 1}, {}]}')
    assert isinstance(verdict, AnswerRejected)
    assert "- a: Input should be a valid integer" in str(verdict)
    assert "- items[1].id: Field required" in str(verdict)
    assert contract.validate_answer("just words") == AnswerRejected(("it holds no JSON",))


def test_answer_that_the_provider_cut_is_rejected() -> None:
    """Without ``whole`` a truncated answer is not repaired."""
    contract = AnswerContract(output_model({"n": (int,)}))
    verdict = contract.validate_answer('{"n": 3', whole=False)
    assert isinstance(verdict, AnswerRejected)
    assert "length limit" in str(verdict)


def test_required_paths_that_are_missing_are_named() -> None:
    """Even where the model has a default."""
    model = output_model({"items": ([{"name": (str, "n", "")}], "all", [])})
    contract = AnswerContract(model, ensure_keys=("items[*].name", "items"))
    assert contract.validate_answer("{}") == AnswerRejected(
        ("items[*].name is missing", "items is missing")
    )
    lacking = contract.validate_answer('{"items": [{"name": "x"}, {}]}')
    assert lacking == AnswerRejected(("items[*].name is missing",))
    assert isinstance(contract.validate_answer('{"items": [{"name": "x"}]}'), AnswerAccepted)


def test_bare_list_answers_a_contract_of_a_list() -> None:
    """The root of such a contract is the field ``list``."""
    contract = AnswerContract(output_model([(int, "n")]))
    assert contract.validate_answer("[1, 2]") == AnswerAccepted({"list": [1, 2]}, repaired=False)
    assert contract.validate_answer('{"list": [1]}') == AnswerAccepted(
        {"list": [1]}, repaired=False
    )


@pytest.mark.parametrize(
    "path", ["a", "a.b", "a.b[*].c", "a.b[].c", "a.b[0].c", "a.b[-1].c", "d[*][0]", "a.b[0]"]
)
def test_path_that_exists_is_not_missing(path: str) -> None:
    """None is a value; every item must have what follows ``[*]``."""
    assert list_missing_paths(DATA, [path]) == ()


@pytest.mark.parametrize(
    "path", ["x", "a.x", "a.b[*].x", "a.b[2].c", "a[0]", "a.b.c", "d[x]", "e.f"]
)
def test_path_that_does_not_exist_is_missing(path: str) -> None:
    """Missing paths keep their order."""
    assert list_missing_paths(DATA, ["a", path]) == (path,)
