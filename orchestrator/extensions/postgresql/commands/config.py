"""``orchestrator config``: the configuration that all machines with one journal share."""

import os
import socket
import time
from pathlib import Path
from typing import Annotated

import typer

from orchestrator.cli.commands import make_command_group
from orchestrator.cli.config_examination import examine_config
from orchestrator.cli.options import AsJson, Home, load_environment, load_settings
from orchestrator.cli.output import format_count, format_minute, make_printable, print_text
from orchestrator.cli.tables import print_json, print_table
from orchestrator.control.camel_model import CamelModel
from orchestrator.errors import ConfigError, ExitCode, UnknownNameError
from orchestrator.extensions.postgresql.shared_config import config_placing, pushed_config
from orchestrator.extensions.postgresql.shared_config.config_files import MAIN, collect_files
from orchestrator.extensions.postgresql.shared_config.pushed_config import PushedFile, PushedVersion
from orchestrator.journal.db.database import Database
from orchestrator.journal.opening import find_engine, open_for_reading
from orchestrator.journal_address import DatabaseServer
from orchestrator.settings import Settings

FILE = (
    "the journal is a file, so the files of this machine are the configuration, and its daemon"
    " follows each edit; machines share one with a journal in PostgreSQL, see: orchestrator help"
    " postgresql"
)
SECRETS = (
    "{file} holds secrets ({names}), which the database would store; write ${{NAME}} in their"
    " place, and the values in keys.env of each machine"
)

app = make_command_group("config")


class FileReport(CamelModel):
    """One file in ``config show --json``; ``bytes`` is its size."""

    name: str
    bytes: int
    executable: bool


class VersionReport(CamelModel):
    """The output of ``config show --json``; times in milliseconds since the epoch.

    ``version`` is null if nothing was pushed, ``applied`` if this home never got a version.
    """

    version: int | None = None
    pushed_at: int | None = None
    host: str | None = None
    applied: int | None = None
    files: tuple[FileReport, ...] = ()


@app.command()
def push(
    folder: Annotated[
        Path | None,
        typer.Argument(metavar="FOLDER", help="Folder with an agents.json (default: the home)."),
    ] = None,
    *,
    home: Home = None,
) -> None:
    """Check a configuration, and push it to all machines; nothing is pushed if it has errors.

    Keys stay on each machine.
    """
    settings = load_settings(home)
    server = _require_server(settings)
    source = _find_source(settings, folder)
    found = collect_files(source)
    _check_config(settings, source)
    if collect_files(source) != found:
        raise ConfigError(f"{source} was changed while it was checked; push again")
    for name in found.left_out:
        print_text(f"left out: {name}, as keys and hidden files stay on each machine")
    find_engine(server)  # raises if there is none
    from orchestrator.extensions.postgresql.pg_opening import open_beside_daemon  # noqa: PLC0415 - psycopg is optional

    with open_beside_daemon(server) as db:
        now = time.time_ns() // 1_000_000
        version, new = pushed_config.store_version(db, found.files, socket.gethostname(), now)
    if not new:
        print_text(f"version {version.number} already has these files; nothing was pushed")
        return
    size = sum(len(file.data) for file in found.files)
    print_text(
        f"pushed version {version.number}: {format_count(len(found.files), 'file')},"
        f" {size / 1e3:.1f} KB; the working daemon takes it within seconds,"
        " others when they take over"
    )


@app.command()
def show(
    *,
    number: Annotated[
        int | None,
        typer.Option("--version", min=1, help="Version to show (default: the newest)."),
    ] = None,
    to: Annotated[
        Path | None, typer.Option("--to", help="Write its files to this new folder.")
    ] = None,
    as_json: AsJson = False,
    home: Home = None,
) -> None:
    """Show the pushed version and its files."""
    settings = load_settings(home)
    with open_for_reading(_require_server(settings)) as db:
        version, files = _load_version(db, number)
    applied = config_placing.load_applied_version(settings.paths).version or None
    if to is not None and version is not None:
        config_placing.write_files(to, files)
    if as_json:
        print_json(_build_version_report(version, files, applied))
    elif version is None:
        typer.echo("nothing was pushed yet; push this home: orchestrator config push")
    else:
        when = format_minute(version.at / 1000)
        print_text(
            f"version {version.number}, pushed {when} (UTC) from {make_printable(version.host)}"
        )
        print_text(
            f"this home has {f'version {applied}' if applied else 'no pushed version yet'}\n"
        )
        rows = ((f.name, len(f.data), "yes" if f.executable else None) for f in files)
        print_table("Files", ("file", "bytes", "executable"), rows)
        if to is not None:
            print_text(
                f"written to {make_printable(str(to))};"
                " push them again with: orchestrator config push"
            )


def _require_server(settings: Settings) -> DatabaseServer:
    """Return the journal's server; raise `ConfigError` if the journal is a file."""
    if not isinstance(settings.journal, DatabaseServer):
        raise ConfigError(FILE)
    return settings.journal


def _find_source(settings: Settings, folder: Path | None) -> Path:
    """Return the folder to push.

    Raises:
        ConfigError: the folder has no agents.json, or the home's is not in use.
    """
    source = settings.home if folder is None else folder.expanduser().absolute()
    own = settings.home / MAIN
    if folder is None and settings.config not in (None, own):
        raise ConfigError(
            f"ORCHESTRATOR_CONFIG names {settings.config} instead of {own}; unset it, or give the"
            " folder to push"
        )
    if not os.path.lexists(source / MAIN):
        advice = (
            "make one with: orchestrator init" if folder is None else "give a folder that has one"
        )
        raise ConfigError(f"{source} has no {MAIN}; {advice}")
    return source


def _check_config(settings: Settings, source: Path) -> None:
    """Print the findings of `orchestrator check`; end the command on an error."""
    variables = os.environ if source == settings.home else load_environment(settings)
    given = {
        **load_environment(settings),
        "ORCHESTRATOR_HOME": str(source),
        "ORCHESTRATOR_CONFIG": "",
    }
    found = examine_config(Settings.read_environ(given), source / MAIN, variables)
    for problem in found.problems:
        print_text(str(problem))
    errors = sum(problem.severity == "error" for problem in found.problems)
    if errors:
        print_text(
            f"nothing was pushed: {format_count(errors, 'error')}; correct and push again", err=True
        )
        raise typer.Exit(ExitCode.CONFIG)
    if found.secrets:
        print_text(SECRETS.format(file=MAIN, names=", ".join(found.secrets[:3])))


def _load_version(
    db: Database, number: int | None
) -> tuple[PushedVersion | None, tuple[PushedFile, ...]]:
    """Load a version and its files; None if nothing was pushed.

    Raises:
        UnknownNameError: the version is not stored.
    """
    version = (
        pushed_config.find_newest_version(db)
        if number is None
        else pushed_config.find_version(db, number)
    )
    files = () if version is None else pushed_config.list_version_files(db, version.number)
    if number is not None and not files:
        raise UnknownNameError(
            f"version {number} is not stored; the newest {pushed_config.MAX_VERSIONS} are"
        )
    return version, files


def _build_version_report(
    version: PushedVersion | None, files: tuple[PushedFile, ...], applied: int | None
) -> VersionReport:
    if version is None:
        return VersionReport(applied=applied)
    return VersionReport(
        version=version.number,
        pushed_at=version.at,
        host=version.host,
        applied=applied,
        files=tuple(
            FileReport(name=name, bytes=len(data), executable=executable)
            for name, executable, data in files
        ),
    )
