"""Errors of the worker.

* ThinkerError
  - WorkerConfigError         the environment or a file it names is invalid (exit 78)
  - ModelError                the provider gave no usable answer
    + RetryableModelError     429, 5xx, timeouts, cut streams: trying again may help
    + FatalModelError         401, 402, 404, refused requests: trying again will not help
      - ContextOverflowError  the request is longer than the model's context window
      - AccountError          401, 402: the key is refused or out of credit
    + CircuitOpenError        the endpoint failed too often and is not called
"""

from thinker.protocol.degradations import Degradation

EXIT_CONFIG = 78  # sysexits.h EX_CONFIG: the supervisor does not retry


class ThinkerError(Exception):
    """Base class of the worker's own errors."""


class WorkerConfigError(ThinkerError):
    """The environment or a file it names is invalid; the message says what to change."""


class ModelError(ThinkerError):
    """The provider gave no usable answer.

    ``over_tools`` says whether the request's tools or tool calls may be the cause, ``degraded``
    what the call had done without before it failed.
    """

    over_tools = False
    degraded: tuple[Degradation, ...] = ()


class RetryableModelError(ModelError):
    """Trying again may help; ``retry_after`` is the wait the provider requests, in seconds."""

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class CircuitOpenError(ModelError):
    """The endpoint failed too often recently and was not called."""


class FatalModelError(ModelError):
    """Trying again will not help: the key, the model name or the request is wrong."""


class ContextOverflowError(FatalModelError):
    """The request is longer than the model's context window."""


class AccountError(FatalModelError):
    """The key is refused or out of credit; the turn waits for a person."""
