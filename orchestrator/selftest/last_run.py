"""The result of the last crash self-test, kept in a home for `orchestrator doctor` and the page."""

from pathlib import Path

from pydantic import ValidationError

from orchestrator.files import write_private
from thinker.formats import regular_file
from thinker.formats.regular_file import FileError, FileKind, FileMissingError
from thinker.protocol.messages import Frozen

RECORD = FileKind(4096, "remove it")  # bytes


class LastRun(Frozen):
    """A self-test that ran to its end; ``at`` in seconds since the epoch."""

    at: float
    version: str
    histories: int
    violations: int


def keep(path: Path, run: LastRun) -> None:
    """Write the result where `load` finds it.

    Raises:
        OSError: it cannot be written.
    """
    write_private(path, run.model_dump_json().encode())


def load(path: Path) -> LastRun | None:
    """Return the last result; None if none is kept.

    Raises:
        FileError: the file is not what `keep` wrote.
    """
    try:
        return LastRun.model_validate_json(regular_file.read_text(path, RECORD))
    except FileMissingError:
        return None
    except ValidationError as error:
        raise FileError("it holds no result of a self-test; remove it") from error
