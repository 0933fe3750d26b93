"""``orchestrator config``: the configuration that all machines with one journal share."""

import os
import socket
import time
from pathlib import Path
from typing import Annotated

import typer

from orchestrator.cli._examined import examined
from orchestrator.cli._options import AsJson, Home, command_group, environment, load_settings
from orchestrator.cli._output import count, minute, printable
from orchestrator.cli._prose import say
from orchestrator.cli._tables import print_json, table
from orchestrator.control.camel_model import CamelModel
from orchestrator.errors import ConfigError, ExitCode, UnknownNameError
from orchestrator.journal.access import pushed_config
from orchestrator.journal.access.pushed_config import PushedFile, PushedVersion
from orchestrator.journal.db.database import Database
from orchestrator.journal.opening import beside_daemon, reading
from orchestrator.journal_address import DatabaseServer
from orchestrator.pushed import config_placing
from orchestrator.pushed.config_files import MAIN, collected
from orchestrator.settings import Settings

FILE = (
    "the journal is a file, so the files of this machine are the configuration, and its daemon"
    " follows each edit; machines share one with a journal in PostgreSQL, see: orchestrator help"
    " postgresql"
)
SECRETS = (
    "{file} holds secrets ({names}), which the database has then as well; write ${{NAME}} in their"
    " place, and the values in keys.env of each machine"
)

app = command_group("config")


class FileReport(CamelModel):
    """One file in ``config show --json``; ``bytes`` is its size."""

    name: str
    bytes: int
    executable: bool


class VersionReport(CamelModel):
    """What ``config show --json`` prints; times in milliseconds since the epoch.

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
    """Check a configuration, and give it to all machines.

    With an error nothing is pushed. Keys stay on each machine.
    """
    settings = load_settings(home)
    server = _server(settings)
    source = _source(settings, folder)
    found = collected(source)
    _check(settings, source)
    if collected(source) != found:
        raise ConfigError(f"{source} was changed while it was checked; push again")
    for name in found.left_out:
        say(f"left out: {name}, as keys and hidden files stay on each machine")
    with beside_daemon(server) as db:
        now = time.time_ns() // 1_000_000
        version, new = pushed_config.push(db, found.files, socket.gethostname(), now)
    if not new:
        say(f"version {version.number} has the same files already; nothing is pushed")
        return
    size = sum(len(file.data) for file in found.files)
    say(
        f"pushed version {version.number}: {count(len(found.files), 'file')}, {size / 1e3:.1f} KB;"
        " the working daemon takes it within seconds, others when they take over"
    )


@app.command()
def show(
    *,
    number: Annotated[
        int | None,
        typer.Option("--version", min=1, help="Its number (default: the newest)."),
    ] = None,
    to: Annotated[
        Path | None, typer.Option("--to", help="Write its files to this new folder.")
    ] = None,
    as_json: AsJson = False,
    home: Home = None,
) -> None:
    """Show the pushed version and its files."""
    settings = load_settings(home)
    with reading(_server(settings)) as db:
        version, files = _stored(db, number)
    applied = config_placing.brought(settings.paths).version or None
    if to is not None and version is not None:
        config_placing.write_to(to, files)
    if as_json:
        print_json(_report(version, files, applied))
    elif version is None:
        typer.echo("nothing is pushed yet; push this home: orchestrator config push")
    else:
        when = minute(version.at / 1000)
        say(f"version {version.number}, pushed {when} (UTC) from {printable(version.host)}")
        say(f"this home has {f'version {applied}' if applied else 'no pushed version yet'}\n")
        rows = ((f.name, len(f.data), "yes" if f.executable else None) for f in files)
        table("Files", ("file", "bytes", "executable"), rows)
        if to is not None:
            say(f"written to {printable(str(to))}; push them again with: orchestrator config push")


def _server(settings: Settings) -> DatabaseServer:
    if not isinstance(settings.journal, DatabaseServer):
        raise ConfigError(FILE)
    return settings.journal


def _source(settings: Settings, folder: Path | None) -> Path:
    """Return the folder to push.

    Raises:
        ConfigError: it has no agents.json, or the home's is not the one in use.
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


def _check(settings: Settings, source: Path) -> None:
    """Print what `orchestrator check` would; end the command if there is an error."""
    variables = os.environ if source == settings.home else environment(settings)
    given = {**environment(settings), "ORCHESTRATOR_HOME": str(source), "ORCHESTRATOR_CONFIG": ""}
    found = examined(Settings.read(given), source / MAIN, variables)
    for problem in found.problems:
        say(str(problem))
    errors = sum(problem.severity == "error" for problem in found.problems)
    if errors:
        say(f"nothing is pushed: {count(errors, 'error')}; correct and push again", err=True)
        raise typer.Exit(ExitCode.CONFIG)
    if found.secrets:
        say(SECRETS.format(file=MAIN, names=", ".join(found.secrets[:3])))


def _stored(
    db: Database, number: int | None
) -> tuple[PushedVersion | None, tuple[PushedFile, ...]]:
    """Return a version and its files; None if nothing was pushed.

    Raises:
        UnknownNameError: there is no such version.
    """
    version = pushed_config.newest(db) if number is None else pushed_config.version(db, number)
    files = () if version is None else pushed_config.files(db, version.number)
    if number is not None and not files:
        raise UnknownNameError(
            f"version {number} is not stored; the newest {pushed_config.KEPT} are"
        )
    return version, files


def _report(
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
