"""What becomes of an answer under contract; the loop knows no more of contracts than this.

The decision is pure: the loop asks it about every final text and, while there are retries left,
puts its objection to the model.
"""

from dataclasses import dataclass
from typing import Protocol

import orjson

from thinker.protocol.messages import JsonObject


@dataclass(frozen=True)
class AnswerAccepted:
    """The answer as a JSON object of the contract; ``repaired`` when the model wrote it broken."""

    value: JsonObject
    repaired: bool

    @property
    def text(self) -> str:
        """The answer as JSON text, which is the reply of the turn."""
        return orjson.dumps(self.value).decode()


@dataclass(frozen=True)
class AnswerRejected:
    """Why the answer cannot be taken."""

    problems: tuple[str, ...]

    def __str__(self) -> str:
        """As the model is asked again."""
        lines = "\n".join(f"- {problem}" for problem in self.problems)
        return (
            f"Your answer cannot be used:\n{lines}\n"
            "Answer again with the complete JSON alone, in the required structure."
        )


class AnswerValidator(Protocol):
    """What an answer must be, and how often the model is asked again for one that is not."""

    @property
    def max_retries(self) -> int:
        """Answers that may be asked for after the first."""

    @property
    def schema(self) -> JsonObject | None:
        """The JSON Schema of the answer; None when there is none."""

    def judge(self, text: str, *, whole: bool = True) -> AnswerAccepted | AnswerRejected:
        """The answer in this text, or what is wrong with it.

        ``whole`` is false for a text that the provider cut: half of an answer is none.
        """
