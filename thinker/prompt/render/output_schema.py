"""Check an answer against the JSON Schema of an API request."""

from dataclasses import dataclass

from thinker.answers.parse import parse_answer
from thinker.answers.verdict import CUT_OFF, AnswerAccepted, AnswerRejected
from thinker.formats.prompts.slots import MAX_RETRIES
from thinker.protocol.messages import JsonObject
from thinker.protocol.methods import RequestOptions
from thinker.toolcalls.schema_validation import check_against_schema


@dataclass(frozen=True)
class SchemaContract:
    """The JSON Schema of an object that the answer must fit."""

    schema: JsonObject
    max_retries: int = MAX_RETRIES

    def validate_answer(self, text: str, *, whole: bool = True) -> AnswerAccepted | AnswerRejected:
        properties = self.schema.get("properties")
        answer = parse_answer(text, tuple(properties) if isinstance(properties, dict) else ())
        if not isinstance(answer.value, dict):
            return AnswerRejected(("it holds no JSON object",))
        if answer.repair == "truncated" and not whole:
            return CUT_OFF
        problem = check_against_schema(answer.value, self.schema)
        if problem is not None:
            return AnswerRejected(tuple(problem.split("; ")))
        return AnswerAccepted(answer.value, answer.is_repaired)


def build_request_contract(options: RequestOptions) -> SchemaContract | None:
    """Return the contract of an API request, or None; it replaces that of a definition."""
    return None if options.output_schema is None else SchemaContract(options.output_schema)
