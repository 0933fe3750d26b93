"""``orchestrator config``: edit the configuration with a safety net, and go back."""

from typing import Annotated

import typer

from orchestrator.cli.commands import make_command_group
from orchestrator.cli.options import AsJson, Home, load_settings
from orchestrator.cli.output import format_moment, make_printable, print_text
from orchestrator.cli.tables import print_json, print_table
from orchestrator.control.editing import (
    FILE_HISTORY,
    FILE_LIST,
    FILE_READ,
    FILE_UNDO,
    EditableFiles,
    EditReport,
    FileHistory,
    FileName,
    FileText,
    UndoRequest,
    VersionName,
)
from orchestrator.errors import ConfigError, ExitCode, OrchestratorError
from orchestrator.extensions.versions.direct_keeper import BY, edit_texts
from orchestrator.extensions.versions.editor_session import (
    EditorSession,
    make_printable_lines,
    print_report,
)
from orchestrator.extensions.versions.text_difference import format_difference
from orchestrator.settings import Settings

MAIN = "agents.json"
Name = Annotated[
    str, typer.Argument(metavar="TEXT", help="Such as agents.json, or prompts/home.md.")
]
Yes = Annotated[bool, typer.Option("--yes", help="Save without asking.")]
Why = Annotated[str, typer.Option("--why", help="A reason to keep with the version.")]

app = make_command_group("config")


@app.command()
def edit(name: Name = MAIN, *, yes: Yes = False, why: Why = "", home: Home = None) -> None:
    """Edit a text with $VISUAL or $EDITOR; see what it changes before it is saved.

    The copy holds marks in place of secrets. Errors lead back into the editor.
    """
    saved = EditorSession(load_settings(home), name, why, asks=not yes).run()
    raise typer.Exit(ExitCode.OK if saved else ExitCode.FAILED)


@app.command("list")
def list_texts(*, as_json: AsJson = False, home: Home = None) -> None:
    """List the texts that can be edited."""
    found = edit_texts(
        load_settings(home),
        FILE_LIST,
        FileName(name=""),
        EditableFiles,
        lambda keeper: keeper.list_texts(),
    )
    if as_json:
        print_json(found)
        return
    rows = [(one.name, one.title, one.problems or None) for one in found.files]
    print_table("Texts", ("text", "what it is", "errors"), rows)
    for prefix, title in found.prefixes.items():
        print_text(f"{prefix}… names {title}")


@app.command()
def history(
    name: Annotated[str, typer.Argument(metavar="TEXT", help="One text (default: all).")] = "",
    *,
    as_json: AsJson = False,
    home: Home = None,
) -> None:
    """Show who changed what, when and why; newest first."""
    asked = FileName(name=name)
    found = edit_texts(
        load_settings(home),
        FILE_HISTORY,
        asked,
        FileHistory,
        lambda keeper: keeper.load_history(asked),
    )
    if as_json:
        print_json(found)
        return
    for version in found.versions:
        place = version.name if not name else ""
        what = " ".join(filter(None, (place, f"version {version.number}")))
        why = f": {version.why}" if version.why else ""
        line = f"{format_moment(version.at)}  {what}, by {version.by}{why}"
        print_text(make_printable(line))
        for sentence in version.sentences:
            print_text(f"    {make_printable(sentence)}")
    if not found.versions:
        print_text("no versions are kept yet; the first one is made by the next change")


@app.command()
def diff(
    name: Name = MAIN,
    *,
    number: Annotated[
        int | None,
        typer.Option("--version", min=1, help="Version to compare (default: the one before)."),
    ] = None,
    home: Home = None,
) -> None:
    """Show how the present text differs from an earlier version."""
    settings = load_settings(home)
    if number is None:
        number = _find_number_before(settings, name)
    old, new = (_read_version(settings, name, one) for one in (number, None))
    print_text(make_printable_lines(format_difference(old, new)) or "they are alike")


@app.command()
def undo(
    name: Name = MAIN,
    *,
    to: Annotated[
        int | None,
        typer.Option("--to", min=1, help="Version to go back to (default: the one before)."),
    ] = None,
    home: Home = None,
) -> None:
    """Bring an earlier version of a text back, which makes a new version."""
    undo_change(load_settings(home), UndoRequest(name=name, number=to))


def undo_change(settings: Settings, asked: UndoRequest) -> None:
    """Undo a change and print what that does.

    Raises:
        OrchestratorError: the version cannot come back; its problems were printed.
    """
    report = edit_texts(
        settings,
        FILE_UNDO,
        asked,
        EditReport,
        lambda keeper: keeper.undo_change(asked, BY),
    )
    print_report(report)
    if report.conflict:
        raise ConfigError(f"{report.name} was changed at this moment, so nothing was undone")
    if not report.saved:
        raise ConfigError(f"{report.name} stays as it is: the version has the errors above")
    print_text(f"{report.name}: undone")


def _find_number_before(settings: Settings, name: str) -> int:
    asked = FileName(name=name)
    found = edit_texts(
        settings, FILE_HISTORY, asked, FileHistory, lambda keeper: keeper.load_history(asked)
    )
    if len(found.versions) < 2:  # noqa: PLR2004 - the present one, and one before it
        raise OrchestratorError(f"{name} has no earlier version to compare with")
    return found.versions[1].number


def _read_version(settings: Settings, name: str, number: int | None) -> str:
    asked = VersionName(name=name, number=number)
    return edit_texts(
        settings, FILE_READ, asked, FileText, lambda keeper: keeper.read_text(asked)
    ).text
