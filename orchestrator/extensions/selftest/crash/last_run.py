"""The result of the last crash self-test, kept in a home for `orchestrator doctor` and the page."""

import time
from pathlib import Path

from pydantic import ValidationError

from orchestrator.extension import Finding
from orchestrator.files import write_private
from thinker.formats import regular_file
from thinker.formats.regular_file import FileError, FileKind, FileMissingError
from thinker.protocol.messages import Frozen

RECORD = FileKind(4096, "remove it")  # bytes
SUBJECT = "self-test"


class LastRun(Frozen):
    """A self-test that ran to its end; ``at`` in seconds since the epoch."""

    at: float
    version: str
    histories: int
    violations: int


def save_last_run(path: Path, run: LastRun) -> None:
    """Write the result where `load_last_run` finds it.

    Raises:
        OSError: the file cannot be written.
    """
    write_private(path, run.model_dump_json().encode())


def load_last_run(path: Path) -> LastRun | None:
    """Return the last result; None if none is stored.

    Raises:
        FileError: the file is not what `save_last_run` wrote.
    """
    try:
        return LastRun.model_validate_json(regular_file.read_text(path, RECORD))
    except FileMissingError:
        return None
    except ValidationError as error:
        raise FileError("it holds no result of a self-test; remove it") from error


def check_last_run(path: Path) -> Finding:
    """Return a line for `orchestrator doctor`."""
    try:
        run = load_last_run(path)
    except FileError as error:
        return Finding(SUBJECT, f"{path}: {error}", "warning")
    if run is None:
        return Finding(SUBJECT, "never ran here; try: orchestrator selftest crash --quick")
    when = time.strftime("%Y-%m-%d %H:%M", time.localtime(run.at))
    text = f"{run.histories} crashes on {when} with version {run.version}"
    found = f"{text}, {run.violations} violations"
    return Finding(SUBJECT, found, "problem" if run.violations else "ok")
