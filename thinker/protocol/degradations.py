"""What a turn had to do without, in words for the operator."""

from typing import Literal

from pydantic import Field

from thinker.protocol.messages import Frozen
from thinker.protocol.visible_text import make_printable

WORDS = 300  # characters kept of a provider's or server's own words

DegradationKind = Literal[
    "tool",  # a tool was left out, or its schema was made plain
    "tools",  # all tools were left out, or offered as text
    "model",  # another model answered
    "server",  # a tool server was missing
    "history",  # earlier messages were cut, summarized or dropped
    "message",  # the message itself was cut
    "setting",  # a setting, such as effort, has no effect
]


class Degradation(Frozen):
    """One thing that a model call had to do without.

    ``subject`` names the tool, server, model or setting; ``what`` says what was done, as a clause
    ("left out", "answered instead of openai/gpt-5"); ``words`` quotes the provider or server, cut
    and without secrets.
    """

    kind: DegradationKind
    subject: str = ""
    what: str
    words: str = Field(default="", max_length=WORDS + 1)

    def __str__(self) -> str:
        said = f" ({self.words})" if self.words else ""
        return f"{self.subject or self.kind} {self.what}{said}"


def cut_words(text: str) -> str:
    """Return a provider's or server's words on one line, as long as `Degradation.words` may be."""
    words = make_printable(" ".join(text.split()))
    return words if len(words) <= WORDS else f"{words[:WORDS]}…"
