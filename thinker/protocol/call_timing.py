"""The duration and size of a model call, as the worker measured them.

Times are milliseconds since the epoch.
"""

from thinker.protocol.messages import Frozen


class CallAttempt(Frozen):
    """One request to a provider, with the answer's status; ``error`` says why it failed.

    ``digest`` is the beginning of the SHA-256 of its body, in hexadecimal digits. ``left_out`` are
    fields that the model had refused before.
    """

    model: str
    began: int
    ended: int
    status: int | None = None
    error: str = ""
    digest: str = ""
    left_out: tuple[str, ...] = ()


class CallTiming(Frozen):
    """A call with all its attempts, the last of which was answered; a demo model makes none.

    ``first`` is the time of the first event of a streamed answer. ``sent`` and ``got`` are the
    sizes of all request and answer bodies, in bytes. ``effort`` is the effort that was asked for,
    in words; empty for the provider's own.
    """

    began: int
    ended: int
    first: int | None = None
    attempts: tuple[CallAttempt, ...] = ()
    sent: int = 0
    got: int = 0
    effort: str = ""
