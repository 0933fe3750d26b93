"""Errors of the supervisor and the exit codes of the command line."""

import heapq
from collections.abc import Collection
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
    64: "an argument names an unknown agent, chat, message, turn, task or code",
    74: "the journal cannot be opened or written",
    75: "another daemon holds this home",
    78: "agents.json or a setting cannot be used",
    130: "interrupted",
}
"""The meaning of each exit status; 2 and 130 come from the command line itself."""


FAULTS = (Exception, SystemExit)  # of third-party code, none of which may end the process


MAX_NAMED = 20  # names in a sentence


def join_names(names: Collection[str], left_out: int = 0) -> str:
    """Return names in order; of many, only the first ones and how many more there are."""
    shown = heapq.nsmallest(MAX_NAMED, names)
    more = len(names) - len(shown) + left_out
    return ", ".join(shown) + (f" and {more:,} more" if more else "")


def describe_fault(error: BaseException) -> str:
    """Return the type and the message of what third-party code raised."""
    return f"{type(error).__name__}: {error}"


class OrchestratorError(Exception):
    """Base of every error that the program raises on purpose; its message says what to do."""

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


class QueryTimeoutError(OrchestratorError):
    """A query of the page took too long."""

    def __init__(self) -> None:
        super().__init__("this took too long and was cut off; choose a shorter time or fewer rows")


class WorkerError(OrchestratorError):
    """A worker could not be started or went away; ``code`` is its exit status if it has one."""

    def __init__(self, message: str, code: int | None = None) -> None:
        super().__init__(message)
        self.code = code


class WorkerLostError(WorkerError):
    """A worker's process ended while it had work."""


class QuarantinedError(WorkerError):
    """A worker failed too often; it is retried later, and its messages wait.

    ``final`` says that its configuration is wrong, so that only a change can help.
    """

    def __init__(self, message: str, *, final: bool) -> None:
        super().__init__(message)
        self.final = final


class UnknownNameError(OrchestratorError):
    """An argument names something that does not exist."""

    exit_code = ExitCode.USAGE


class UnknownAgentError(UnknownNameError):
    """An agent is not in agents.json."""


def unwrap_cause(error: Exception) -> Exception:
    """Return the only exception inside task groups' exception groups, or the group."""
    while isinstance(error, ExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error


def describe_cause(error: BaseException) -> str:
    """Return the message of an error's innermost cause, which outer errors only repeat."""
    inner = error.__cause__ or error.__context__
    if isinstance(inner, BaseExceptionGroup):  # of several addresses
        inner = inner.exceptions[0]
    return describe_cause(inner) if inner is not None else str(error) or type(error).__name__


class MediaError(OrchestratorError):
    """A model for sound or pictures did not answer; the message gives the reason for a chat."""
