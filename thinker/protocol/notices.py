"""What a chat reads where an answer of the model is missing, or is not whole.

A notice is the daemon's: it is shown to people, and no model ever reads it.
"""

from collections.abc import Mapping
from enum import StrEnum

from thinker.protocol.methods import StopReason

LONG_WAIT = 120  # seconds from which a wait is told in minutes


class FailureKind(StrEnum):
    """Why a model gave no answer, as far as it matters to the person who waits for one."""

    TIMEOUT = "timeout"  # nothing came in the time allowed
    UNREACHABLE = "unreachable"  # no connection: the server is down, or its address is wrong
    CUT = "cut"  # the answer broke off
    RATE_LIMITED = "rate_limited"
    OVERLOADED = "overloaded"
    NO_CREDIT = "no_credit"
    BAD_KEY = "bad_key"
    MODEL_GONE = "model_gone"  # unknown, or withdrawn
    FILTERED = "filtered"  # by the provider's rules on content
    TOO_LONG = "too_long"
    REFUSED = "refused"  # the provider takes no such request
    UNREADABLE = "unreadable"  # the provider's answer is not in its format


FAILURE_TEXTS = {
    FailureKind.TIMEOUT: "The model did not answer in time. Please try again in a moment.",
    FailureKind.UNREACHABLE: "I cannot reach the server of the model; it may be switched off."
    " Please try again later.",
    FailureKind.CUT: "The connection broke off while the model was answering. Please try again.",
    FailureKind.RATE_LIMITED: "The model takes no more requests from me for now."
    " Please try again {when}.",
    FailureKind.OVERLOADED: "The model is overloaded. Please try again {when}.",
    FailureKind.NO_CREDIT: "My account with the provider of the model has no credit left."
    " My operator can top it up.",
    FailureKind.BAD_KEY: "The provider of the model refuses my key. My operator can set another.",
    FailureKind.MODEL_GONE: "The model that I am set to use does not exist any more, or I may not"
    " use it. My operator can choose another.",
    FailureKind.FILTERED: "The provider's content filter rejected this. Please put it differently.",
    FailureKind.TOO_LONG: "This is more than the model can read at once. Please send less of it, or"
    " begin a new conversation.",
    FailureKind.REFUSED: "The provider of the model refused this request; my operator's log has its"
    " reason.",
    FailureKind.UNREADABLE: "The model's server sent something that I cannot read. Please try again"
    " in a moment.",
}
STOP_TEXTS = {
    StopReason.MAX_STEPS: "I stopped after the allowed number of steps without finishing. "
    "Tell me to go on if you want me to.",
    StopReason.MAX_TOKENS: "I stopped because this answer used up its token limit.",
    StopReason.DEADLINE: "I ran out of time for this one. Please try again.",
    StopReason.EMPTY: "I have no answer to that: the model returned nothing.",
    StopReason.REFUSED: "The model declined to answer this.",
    StopReason.MODEL_ERROR: "I couldn't get an answer from the model just now. "
    "Please try again in a moment.",
    StopReason.OVERFLOW: FAILURE_TEXTS[FailureKind.TOO_LONG],
    StopReason.OUTPUT: "The model did not answer in the form that was asked for.",
    StopReason.TOOL_CHOICE: "The model did not use the tool that it had to use for this.",
}
PARTS = {
    "prompt": "my instructions take",
    "tools": "my tools",
    "history": "our conversation",
    "message": "your message",
}
ADVICE = {
    "prompt": "My operator can shorten the instructions or choose a model that reads more.",
    "tools": "My operator can allow me fewer tools or choose a model that reads more.",
    "history": "Begin a new conversation with /new.",
    "message": "Please send it in smaller parts.",
}
CUT_NOTE = "\n\n(The answer was cut off at the model's length limit.)"


def format_failure(kind: FailureKind, wait: float | None = None) -> str:
    """Return the notice of a failure; ``wait`` is in how many seconds to try again, if known."""
    when = "in a moment"
    if wait is not None and wait >= LONG_WAIT:
        when = f"in {-(-wait // 60):.0f} minutes"
    elif wait is not None and wait > 1:
        when = f"in {wait:.0f} seconds"
    return FAILURE_TEXTS[kind].format(when=when)


def format_overflow(parts: Mapping[str, int], window: int | None) -> str:
    """Return the notice of a request that does not fit; ``parts`` are estimated tokens.

    The keys are "prompt", "tools", "history" and "message"; the largest one decides the advice.
    """
    reads = f"The model reads about {window:,} tokens at once" if window else "The model is full"
    sizes = ", ".join(f"{PARTS[part]} about {size:,}" for part, size in parts.items() if size)
    largest = max(parts, key=lambda part: parts[part])
    return f"This does not fit. {reads}: {sizes}. {ADVICE[largest]}"
