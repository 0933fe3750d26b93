"""The verdict on a structured answer, for the agent loop.

The loop calls `AnswerValidator.validate_answer` on every final text. While retries are left, it
sends the problems of a rejected answer back to the model.
"""

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import orjson

from thinker.protocol.messages import JsonObject


class AnswerAccepted(NamedTuple):
    """An accepted answer; ``repaired`` says whether the model wrote broken JSON."""

    value: JsonObject
    repaired: bool

    @property
    def text(self) -> str:
        """The answer as JSON text, which is the reply of the turn."""
        return orjson.dumps(self.value).decode()


@dataclass(frozen=True)
class AnswerRejected:
    """The problems that make an answer unusable."""

    problems: tuple[str, ...]

    def __str__(self) -> str:
        """Return the request that the model gets next."""
        lines = "\n".join(f"- {problem}" for problem in self.problems)
        return (
            f"Your answer cannot be used:\n{lines}\n"
            "Answer again with the complete JSON alone, in the required structure."
        )


CUT_OFF = AnswerRejected(("it was cut off at the length limit; make it shorter",))


class AnswerValidator(Protocol):
    """The contract of an answer, and the number of retries."""

    @property
    def max_retries(self) -> int:
        """The number of answers that may be requested after the first."""

    @property
    def schema(self) -> JsonObject | None:
        """The JSON Schema of the answer, or None."""

    def validate_answer(self, text: str, *, whole: bool = True) -> AnswerAccepted | AnswerRejected:
        """Return the answer in this text, or the problems of the answer.

        ``whole`` is False if the provider cut the text off; then a truncated answer is rejected.
        """
