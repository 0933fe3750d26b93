"""A JSON Schema, as programs that ask over HTTP send one, as the contract of an answer."""

from dataclasses import dataclass

from thinker.answers.parse import parse
from thinker.answers.verdict import AnswerAccepted, AnswerRejected
from thinker.formats.prompts.slots import MAX_RETRIES
from thinker.protocol.messages import JsonObject
from thinker.protocol.methods import RequestOptions
from thinker.toolcalls.arguments import validate


@dataclass(frozen=True)
class SchemaContract:
    """The schema of a JSON object, which the answer has to fit."""

    schema: JsonObject
    max_retries: int = MAX_RETRIES

    def judge(self, text: str, *, whole: bool = True) -> AnswerAccepted | AnswerRejected:
        """The answer in this text, or what is wrong with it; half of an answer is none."""
        properties = self.schema.get("properties")
        answer = parse(text, tuple(properties) if isinstance(properties, dict) else ())
        if not isinstance(answer.value, dict):
            return AnswerRejected(("it holds no JSON object",))
        if answer.repair == "truncated" and not whole:
            return AnswerRejected(("it was cut off at the length limit; make it shorter",))
        problem = validate(answer.value, self.schema)
        if problem is not None:
            return AnswerRejected(tuple(problem.split("; ")))
        return AnswerAccepted(answer.value, answer.repaired)


def requested(asked: RequestOptions) -> SchemaContract | None:
    """What a program wants the answer to be, which comes before what the definition wants."""
    return None if asked.output_schema is None else SchemaContract(asked.output_schema)
