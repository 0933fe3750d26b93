"""Requests to edit files, and what is kept like files, with a safety net.

A name such as ``agents.json``, ``prompts/home.yaml`` or ``tasks/7`` names one text.
"""

from pydantic import Field, JsonValue

from orchestrator.config_problem import Problem
from orchestrator.control.camel_model import CamelModel

FILE_LIST = "files/list"  # → EditableFiles
FILE_READ = "files/read"  # VersionName → FileText
FILE_CHECK = "files/check"  # FileEdit → EditReport, which changes nothing
FILE_SAVE = "files/save"  # FileEdit → EditReport
FILE_HISTORY = "files/history"  # FileName → FileHistory
FILE_UNDO = "files/undo"  # UndoRequest → EditReport

MAX_TEXT = 1_000_000  # characters of an edited text


class EditableFile(CamelModel):
    """One text that can be edited; ``title`` says in a few words what it is."""

    name: str
    title: str
    problems: int = 0


class EditableFiles(CamelModel):
    """All texts, and the beginnings of names that new ones may have, with what each holds."""

    files: tuple[EditableFile, ...]
    prefixes: dict[str, str] = Field(default_factory=dict)


class FileName(CamelModel):
    """The name of a text."""

    name: str = Field(max_length=500)


class VersionName(FileName):
    """A version of a text by its number; None for the present one."""

    number: int | None = None


class FileText(FileName):
    """A text, empty where it does not exist yet; ``base`` is the digest to send with an edit.

    ``where`` is its place on the machine, or what keeps it.
    """

    text: str
    base: str
    where: str = ""


class ValueChange(CamelModel):
    """A new value for one part of a JSON text; without a value the part is removed."""

    path: tuple[str | int, ...] = Field(max_length=64)
    value: JsonValue = None
    remove: bool = False


class FileEdit(FileName):
    """A new text, or ``changes`` of the present one; neither removes it.

    ``base`` is the digest of the text from which the edit began: another one by now is a conflict.
    ``why`` is kept with the version. ``anyway`` saves it in spite of objections.
    """

    base: str
    text: str | None = Field(None, max_length=MAX_TEXT)
    changes: tuple[ValueChange, ...] = Field((), max_length=200)
    why: str = Field("", max_length=500)
    anyway: bool = False


class UndoRequest(FileName):
    """A text that goes back to a version; without a number to the one before the last change.

    Without a name, the newest change of any text; with ``after``, only while that is the newest.
    """

    name: str = ""
    number: int | None = None
    after: int | None = None


class EditReport(FileText):
    """What an edit does, or has done: its meaning in sentences, and its lines as a diff.

    An edit that is not ``saved`` has a ``problem`` that is an error, or met a ``conflict``; then
    ``text`` is that of the edit, and ``present`` the one that came meanwhile. Or there are
    ``objections`` to it, such as tests that fail with it; see `FileEdit.anyway`.
    """

    problems: tuple[Problem, ...] = ()
    sentences: tuple[str, ...] = ()
    difference: str = ""
    saved: bool = False
    conflict: bool = False
    present: str = ""
    objections: tuple[str, ...] = ()

    def explain_refusal(self) -> str:
        """Return the first reason why the edit is not saved; empty for a conflict."""
        wrong = [str(one) for one in self.problems if one.severity == "error"]
        return (*wrong, *self.objections, "")[0]


class FileVersion(CamelModel):
    """A version; ``at`` in milliseconds since the epoch, ``by`` who made it, or ``a file``."""

    name: str
    number: int
    at: int
    by: str
    why: str = ""
    sentences: tuple[str, ...] = ()


class FileHistory(FileName):
    """The versions of a text, or without a name those of all texts, newest first."""

    versions: tuple[FileVersion, ...]
