"""The decision about an answer is pure: it fits, or here is what to say to the model."""

import pytest
from pydantic import JsonValue

from thinker.answers.contract import AnswerContract
from thinker.answers.paths import missing
from thinker.answers.verdict import AnswerAccepted, AnswerRejected
from thinker.prompt.render.output_contract import output_model

DATA: JsonValue = {"a": {"b": [{"c": 1}, {"c": None}]}, "d": [[1], [2]], "e.f": 0}


@pytest.mark.parametrize(
    "key", ["a", "a.b", "a.b[*].c", "a.b[].c", "a.b[0].c", "a.b[-1].c", "d[*][0]", "a.b[0]"]
)
def test_paths_that_lead_somewhere(key: str) -> None:
    """None is a value; every item must have what follows ``[*]``."""
    assert missing(DATA, [key]) == ()


@pytest.mark.parametrize(
    "key", ["x", "a.x", "a.b[*].x", "a.b[2].c", "a[0]", "a.b.c", "d[x]", "e.f"]
)
def test_paths_that_lead_nowhere_are_named(key: str) -> None:
    """In the order in which they were asked for."""
    assert missing(DATA, ["a", key]) == (key,)


def test_paths_may_have_slashes() -> None:
    """The other style of upstream."""
    keys = ["/a/b/*/c", "a/b/0/c", "/a/b/[*]/c", "/a/x", "/e.f"]
    assert missing(DATA, keys, "slash") == ("/a/x",)


def test_an_answer_that_fits_becomes_an_object_of_the_contract() -> None:
    """Coerced, with defaults, as JSON; what was mended is said."""
    contract = AnswerContract(
        output_model({"n": (int,), "tags": ([str], "t"), "x": (str, "d", "-")})
    )
    verdict = contract.judge('Here: {"n": "3", "tags": "a"}')
    assert verdict == AnswerAccepted({"n": 3, "tags": ["a"], "x": "-"}, repaired=False)
    assert contract.judge('{"tags": [], "n": 3').repaired  # type: ignore[union-attr]  # accepted


def test_an_answer_that_does_not_fit_is_objected_to_by_its_places() -> None:
    """The words are for the model."""
    contract = AnswerContract(output_model({"a": (int,), "items": [{"id": (int,)}]}))
    verdict = contract.judge('{"a": "x", "items": [{"id": 1}, {}]}')
    assert isinstance(verdict, AnswerRejected)
    assert "- a: Input should be a valid integer" in str(verdict)
    assert "- items[1].id: Field required" in str(verdict)
    assert contract.judge("just words") == AnswerRejected(("it holds no JSON",))


def test_keys_that_must_be_there_are_asked_for_by_name() -> None:
    """Even those that the model could do without."""
    model = output_model({"items": ([{"name": (str, "n", "")}], "all", [])})
    contract = AnswerContract(model, ensure_keys=("items[*].name", "items"))
    assert contract.judge("{}") == AnswerRejected(("items[*].name is missing", "items is missing"))
    lacking = contract.judge('{"items": [{"name": "x"}, {}]}')
    assert lacking == AnswerRejected(("items[*].name is missing",))
    assert isinstance(contract.judge('{"items": [{"name": "x"}]}'), AnswerAccepted)


def test_a_bare_list_is_an_answer_to_a_list() -> None:
    """The root of such a contract is the field ``list``."""
    contract = AnswerContract(output_model([(int, "n")]))
    assert contract.opening == "["
    assert contract.judge("[1, 2]") == AnswerAccepted({"list": [1, 2]}, repaired=False)
    assert contract.judge('{"list": [1]}') == AnswerAccepted({"list": [1]}, repaired=False)
