"""How long a model call took and what it cost on the way, as the worker measured it.

Times are milliseconds since the epoch.
"""

from thinker.protocol.messages import Frozen


class CallAttempt(Frozen):
    """One request to a provider, with the status of its answer; ``error`` says why it failed."""

    model: str
    began: int
    ended: int
    status: int | None = None
    error: str = ""


class CallTiming(Frozen):
    """A call with all its attempts, the last of which was answered; a demo model makes none.

    ``first`` is when the first event of a streamed answer came. ``sent`` and ``got`` are the bytes
    of the bodies of all requests and answers.
    """

    began: int
    ended: int
    first: int | None = None
    attempts: tuple[CallAttempt, ...] = ()
    sent: int = 0
    got: int = 0
