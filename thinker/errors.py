"""Errors of the worker.

* ThinkerError
  - ConfigError           the environment or a file it names cannot be used (exit 78)
  - ModelError            the provider did not give a usable answer
    + RetryableModelError   429, 5xx, timeouts, cut streams: asking again may help
    + FatalModelError       401, 402, 404, refused requests: asking again will not
      - ContextOverflowError  the request is longer than the model's window
      - AccountError          401, 402: the key is refused, or has no credit left
    + CircuitOpenError      the endpoint failed too often and is left alone
"""

EXIT_CONFIG = 78  # sysexits.h EX_CONFIG: the supervisor does not retry


class ThinkerError(Exception):
    """Base of every error that the worker raises on purpose."""


class WorkerConfigError(ThinkerError):
    """The environment or a file it names cannot be used; the message says what to mend."""


class ModelError(ThinkerError):
    """The provider did not give a usable answer.

    ``over_tools``: the request's tools or the calls in it may be the cause.
    """

    over_tools = False


class RetryableModelError(ModelError):
    """Asking again may help; ``retry_after`` is what the provider asked for, in seconds."""

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class CircuitOpenError(ModelError):
    """The endpoint failed too often lately, so it was not asked."""


class FatalModelError(ModelError):
    """Asking again will not help: the key, the model name or the request is wrong."""


class ContextOverflowError(FatalModelError):
    """The request is longer than the model's context window."""


class AccountError(FatalModelError):
    """The key is refused or has no credit left: nothing is answered until a person acts."""
