"""An API request's JSON Schema is the contract of the answer."""

import pytest

from thinker.answers.verdict import AnswerAccepted, AnswerRejected
from thinker.prompt.render.output_schema import SchemaContract, build_request_contract
from thinker.protocol.messages import JsonObject
from thinker.protocol.methods import RequestOptions

SCHEMA: JsonObject = {
    "type": "object",
    "properties": {"n": {"type": "integer"}},
    "required": ["n"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"n": 1}', {"n": 1}),
        ('Here you are:\n```json\n{"n": 1}\n```', {"n": 1}),
        ('{"n": "1"}', None),
        ('{"n": 1, "m": 2}', None),
        ("[1]", None),
        ("no", None),
    ],
)
def test_fitting_answer_is_accepted(text: str, value: JsonObject | None) -> None:
    """Text around it is ignored; the problems of other answers are named."""
    verdict = SchemaContract(SCHEMA).validate_answer(text)
    assert isinstance(verdict, AnswerAccepted if value else AnswerRejected)
    if isinstance(verdict, AnswerAccepted):
        assert verdict.value == value


def test_truncated_answer_is_rejected_if_the_provider_cut_it() -> None:
    """An answer that ends by itself is repaired."""
    contract = SchemaContract({"type": "object"})
    assert isinstance(contract.validate_answer('{"n": 1'), AnswerAccepted)
    assert isinstance(contract.validate_answer('{"n": 1', whole=False), AnswerRejected)


def test_request_without_a_schema_accepts_any_text() -> None:
    """There is no contract then."""
    assert build_request_contract(RequestOptions()) is None
    assert build_request_contract(RequestOptions(output_schema=SCHEMA)) == SchemaContract(SCHEMA)
