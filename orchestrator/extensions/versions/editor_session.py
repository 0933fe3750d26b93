"""Edit a copy of a text in the person's editor until it can be saved, or is given up."""

import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path

import typer

from orchestrator.cli.output import make_printable, print_text
from orchestrator.config_problem import Problem
from orchestrator.control.editing import (
    FILE_CHECK,
    FILE_READ,
    FILE_SAVE,
    EditReport,
    FileEdit,
    FileText,
    VersionName,
)
from orchestrator.errors import ConfigError
from orchestrator.extensions.versions.direct_keeper import BY, edit_texts
from orchestrator.settings import Settings

EDITORS = ("VISUAL", "EDITOR")
USUAL = "vi"  # which POSIX requires


class EditorSession:
    """One edit of a text; with ``asks``, the person confirms before it is saved."""

    def __init__(self, settings: Settings, name: str, why: str, *, asks: bool) -> None:
        self._settings = settings
        self._name = name
        self._why = why
        self._asks = asks

    def run(self) -> bool:
        """Edit and save the text; return False if the person gives up.

        Raises:
            ConfigError: the editor cannot be run.
        """
        asked = VersionName(name=self._name)
        present = edit_texts(
            self._settings, FILE_READ, asked, FileText, lambda keeper: keeper.read_text(asked)
        )
        folder = Path(tempfile.mkdtemp(prefix="orchestrator-edit-"))
        copy = folder / Path(self._name).name
        copy.write_bytes(present.text.encode())
        saved = False
        try:
            saved = self._edit_copy(copy, present.base, present.text)
        finally:  # what was typed stays, whatever went wrong
            if saved or _read_copy(copy) == present.text:
                shutil.rmtree(folder)
            else:
                print_text(f"nothing was saved; your text is in {copy}")
        return saved

    def _edit_copy(self, copy: Path, base: str, before: str) -> bool:
        while True:
            run_editor(copy)
            text = _read_copy(copy)
            if text == before:
                print_text("nothing was changed")
                return True
            edit = FileEdit(name=self._name, base=base, text=text, why=self._why)
            report = self._check(edit)
            if report.conflict:
                print_text(make_printable_lines(report.difference))
                if not self._confirm("It was changed meanwhile. Replace that by your text?"):
                    return False
                base = report.base
                edit = edit.model_copy(update={"base": base})
                report = self._check(edit)
            print_report(report)
            wrong = any(problem.severity == "error" for problem in report.problems)
            if not self._confirm("Edit again?" if wrong else "Save?"):
                return False
            saved = not wrong and self._save(edit, report)
            if saved or not self._asks:
                return saved

    def _check(self, edit: FileEdit) -> EditReport:
        return edit_texts(
            self._settings, FILE_CHECK, edit, EditReport, lambda keeper: keeper.check_edit(edit)
        )

    def _save(self, edit: FileEdit, checked: EditReport) -> bool:
        """Save an edit, and print what its check has not told yet; return whether it is saved."""
        report = edit_texts(
            self._settings, FILE_SAVE, edit, EditReport, lambda keeper: keeper.save_edit(edit, BY)
        )
        if report.objections and not edit.anyway:
            for objection in report.objections:
                print_text(make_printable(objection))
            if self._asks and typer.confirm("Save anyway?", default=False):
                return self._save(edit.model_copy(update={"anyway": True}), checked)
        elif not report.saved:
            print_text("it was changed at this moment; look at both texts again")
        if not report.saved:
            return False
        print_problems(one for one in report.problems if one not in checked.problems)
        print_text(f"{report.name}: saved; orchestrator undo goes back")
        return True

    def _confirm(self, question: str) -> bool:
        return not self._asks or typer.confirm(question, default=True)


def run_editor(copy: Path) -> None:
    """Open a file in the person's editor, and wait for its end.

    Raises:
        ConfigError: there is no editor, or it failed.
    """
    command = next((os.environ[name] for name in EDITORS if os.environ.get(name)), USUAL)
    try:
        done = subprocess.run([*shlex.split(command), copy], check=False)
    except (OSError, ValueError) as error:
        raise ConfigError(f"the editor {command!r} cannot be run ({error}); set EDITOR") from error
    if done.returncode:
        raise ConfigError(f"the editor {command!r} ended with {done.returncode}; nothing was saved")


def _read_copy(copy: Path) -> str:
    """Return the text with its own ends of lines, which reading as text would replace."""
    return copy.read_bytes().decode("utf-8", "replace")


def print_report(report: EditReport) -> None:
    """Print the problems of an edit, and what it changes."""
    print_problems(report.problems)
    for sentence in report.sentences:
        print_text(make_printable(sentence))


def print_problems(problems: Iterable[Problem]) -> None:
    """Print problems, each on a line of its own."""
    for problem in problems:
        print_text(make_printable(str(problem)))


def make_printable_lines(text: str) -> str:
    """Return a text whose lines hold nothing that a terminal would obey."""
    return "\n".join(map(make_printable, text.split("\n")))
