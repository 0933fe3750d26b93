"""Errors of the worker.

* ThinkerError
  - WorkerConfigError         the environment or a file it names is invalid (exit 78)
  - ModelError                the provider gave no usable answer
    + RetryableModelError     429, 5xx, timeouts, cut streams: trying again may help
    + FatalModelError         401, 402, 404, refused requests: trying again will not help
      - ContextOverflowError  the request is longer than the model's context window
      - AccountError          401, 402: the key is refused or out of credit
      - FilteredError         the provider's content filter rejected the request
    + CircuitOpenError        the endpoint failed too often and is not called
"""

from thinker.protocol.degradations import Degradation
from thinker.protocol.notices import FailureKind, format_failure

EXIT_CONFIG = 78  # sysexits.h EX_CONFIG: the supervisor does not retry


class ThinkerError(Exception):
    """Base class of the worker's own errors."""


class WorkerConfigError(ThinkerError):
    """The environment or a file it names is invalid; the message says what to change."""


class ModelError(ThinkerError):
    """The provider gave no usable answer.

    ``over_tools`` says whether the request's tools or tool calls may be the cause, ``degraded``
    what the call had done without before it failed; ``kind`` is for the person who waits. An
    ``unexplained`` refusal says nothing that is understood: the length may be the cause.
    """

    over_tools = False
    degraded: tuple[Degradation, ...] = ()
    kind: FailureKind | None = None
    unexplained = False

    def format_notice(self) -> str:
        """Return what the person who waits reads; empty if only the operator can understand it."""
        wait = getattr(self, "retry_after", None)
        return format_failure(self.kind, wait) if self.kind else ""


class RetryableModelError(ModelError):
    """Trying again may help; ``retry_after`` is the wait the provider requests, in seconds.

    ``is_loading``: the server is about to be ready.
    """

    is_loading = False

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class CircuitOpenError(ModelError):
    """The endpoint failed too often recently and was not called."""


class FatalModelError(ModelError):
    """Trying again will not help: the key, the model name or the request is wrong."""


class ContextOverflowError(FatalModelError):
    """The request is longer than the model takes, or, if ``suspected``, may be.

    ``allowed`` and ``counted`` are tokens as the provider counts them, if it says so. ``of_rate``:
    the limit is one of tokens a minute, which another model does not have. ``elsewhere``: a
    fallback model takes it. ``of_server``: the suspicion is about a failure of the server.
    ``notice`` tells the person which part does not fit.
    """

    kind = FailureKind.TOO_LONG

    def __init__(
        self,
        message: str,
        allowed: int | None = None,
        counted: int | None = None,
        *,
        of_rate: bool = False,
        suspected: bool = False,
    ) -> None:
        super().__init__(message)
        self.allowed, self.counted = allowed, counted
        self.of_rate, self.suspected = of_rate, suspected
        self.elsewhere, self.of_server, self.notice = False, False, ""

    def format_notice(self) -> str:
        return self.notice or super().format_notice()


class FilteredError(FatalModelError):
    """The provider's content filter rejected the request; another model is not asked in secret."""

    kind = FailureKind.FILTERED


class AccountError(FatalModelError):
    """The key is refused or out of credit; the turn waits for a person."""
