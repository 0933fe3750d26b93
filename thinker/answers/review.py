"""Hold the last answer of a turn against what was done, before it stands.

An answer with false claims goes back to the model once, as a step like any other. The journal has
that it did, so that a resumed turn sends back the same answer and no other.

Where: does an answer go back to the model because it claims what was not done?
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from thinker.extension import AnswerJudge
from thinker.protocol.messages import Message, ToolSpec

# For an answer that another version of the program sent back.
DOUBTED = (
    "Your answer was not sent: it says that something was done which the tool calls of this"
    " conversation do not show. Do it now if you were asked to, or answer again with what was done."
)


@dataclass(frozen=True)
class AnswerReview:
    """The ``judge`` of an answer, and the time of the loop's clock from which answers stand."""

    judge: AnswerJudge
    until: float


def describe_false_claims(
    review: AnswerReview | None,
    text: str,
    messages: Sequence[Message],
    tools: Collection[ToolSpec],
    *,
    returned: bool = False,
) -> str:
    """Return what to tell the model about its answer; empty if the answer may stand.

    There is always something to tell of an answer that was ``returned`` already.
    """
    found = "" if review is None else review.judge.find_false_claims(text, messages, tools)
    return found or (DOUBTED if returned else "")
