"""The decision about an answer that must have a structure, as the agent loop sees it.

The loop calls `AnswerValidator.judge` on every final text. While retries are left, it sends the
problems of a rejected answer back to the model.
"""

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import orjson

from thinker.protocol.messages import JsonObject


class AnswerAccepted(NamedTuple):
    """The answer as a JSON object; ``repaired`` when the model wrote broken JSON."""

    value: JsonObject
    repaired: bool

    @property
    def text(self) -> str:
        """The answer as JSON text, which is the reply of the turn."""
        return orjson.dumps(self.value).decode()


@dataclass(frozen=True)
class AnswerRejected:
    """The problems for which an answer cannot be used."""

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
    """What an answer must be, and how often the model may try again."""

    @property
    def max_retries(self) -> int:
        """The answers that may be requested after the first."""

    @property
    def schema(self) -> JsonObject | None:
        """The JSON Schema of the answer; None without one."""

    def judge(self, text: str, *, whole: bool = True) -> AnswerAccepted | AnswerRejected:
        """Return the answer in this text, or the problems with it.

        ``whole`` is false for a text that the provider cut off: a truncated answer is rejected.
        """
