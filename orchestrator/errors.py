"""Errors of the supervisor and the exit codes of the command line."""

from enum import IntEnum


class ExitCode(IntEnum):
    """The exit codes of ``orchestrator``, from sysexits.h where it has a fitting one."""

    OK = 0
    FAILED = 1
    NOT_RUNNING = 3
    USAGE = 64
    IO = 74
    ALREADY_RUNNING = 75
    CONFIG = 78
    INTERRUPTED = 130


MEANINGS = {
    0: "done",
    1: "failed; the reason is on stderr",
    2: "wrong option or argument",
    3: "no daemon runs on this home",
    64: "an argument names no agent, chat, message, turn, task or code that is known",
    74: "the journal cannot be opened or written",
    75: "another daemon holds this home",
    78: "agents.json or a setting cannot be used",
    130: "interrupted",
}
"""What each exit status says; 2 and 130 are those of the command line itself."""


class OrchestratorError(Exception):
    """Base of every error that the program raises on purpose; the message says what to do."""

    exit_code = ExitCode.FAILED


class ConfigError(OrchestratorError):
    """agents.json or a setting cannot be used."""

    exit_code = ExitCode.CONFIG


class AlreadyRunningError(OrchestratorError):
    """Another daemon holds this home."""

    exit_code = ExitCode.ALREADY_RUNNING


class NotRunningError(OrchestratorError):
    """No daemon answers on this home."""

    exit_code = ExitCode.NOT_RUNNING


class JournalError(OrchestratorError):
    """The journal cannot be opened or written."""

    exit_code = ExitCode.IO


class TooSlowError(OrchestratorError):
    """A query took too long; the page asks for less."""

    def __init__(self) -> None:
        super().__init__(
            "this took more than a quarter of a second and was cut off; choose a shorter time or"
            " fewer rows"
        )


class WorkerError(OrchestratorError):
    """A worker could not be started or went away; ``code`` is its exit status if it has one."""

    def __init__(self, message: str, code: int | None = None) -> None:
        super().__init__(message)
        self.code = code


class WorkerLostError(WorkerError):
    """A worker's process ended while it had work."""


class QuarantinedError(WorkerError):
    """A worker failed too often; it is tried again later and its messages wait.

    ``final`` says that its configuration is wrong, so that only a change can help.
    """

    def __init__(self, message: str, *, final: bool) -> None:
        super().__init__(message)
        self.final = final


class ToolUnavailableError(OrchestratorError):
    """A tool call never reached its server."""


class ToolLostError(OrchestratorError):
    """A tool call was sent and not answered: it may have run or not."""


class UnknownNameError(OrchestratorError):
    """What an argument names does not exist."""

    exit_code = ExitCode.USAGE


class UnknownAgentError(UnknownNameError):
    """A name is not in agents.json."""


def only_cause(error: Exception) -> Exception:
    """Return the only exception within the groups of task groups, otherwise the group."""
    while isinstance(error, ExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error


class MediaError(OrchestratorError):
    """A model of sound or pictures did not answer; the message says why in words for a chat."""
