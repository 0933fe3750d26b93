"""A JSON Schema as the contract of an answer."""

import pytest

from thinker.answers.verdict import AnswerAccepted, AnswerRejected
from thinker.prompt.render.output_schema import SchemaContract, requested
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
def test_answer_is_taken_when_it_fits(text: str, value: JsonObject | None) -> None:
    """Whatever stands around it; what does not fit is named."""
    verdict = SchemaContract(SCHEMA).judge(text)
    assert isinstance(verdict, AnswerAccepted if value else AnswerRejected)
    if isinstance(verdict, AnswerAccepted):
        assert verdict.value == value


def test_half_an_answer_is_none() -> None:
    """One that ends by itself may be mended, one that the provider cut may not."""
    contract = SchemaContract({"type": "object"})
    assert isinstance(contract.judge('{"n": 1'), AnswerAccepted)
    assert isinstance(contract.judge('{"n": 1', whole=False), AnswerRejected)


def test_without_a_schema_any_text_will_do() -> None:
    """Nobody asked for a form."""
    assert requested(RequestOptions()) is None
    assert requested(RequestOptions(output_schema=SCHEMA)) == SchemaContract(SCHEMA)
