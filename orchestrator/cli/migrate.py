"""``orchestrator migrate``."""

from pathlib import Path
from typing import Annotated

import typer

from orchestrator.cli._options import Home, command_group, load_settings
from orchestrator.cli._other_user import require_owner
from orchestrator.cli._output import count, printable
from orchestrator.errors import ConfigError
from orchestrator.journal.opening import reading, require_driver
from orchestrator.journal.transfer import Copied
from orchestrator.journal_address import SCHEMES, DatabaseServer
from orchestrator.system.homelock import locked

app = command_group()


@app.command()
def migrate(
    *,
    to: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="An empty database: postgresql://user@host/name."),
    ] = None,
    back: Annotated[bool, typer.Option("--back", help="From the database to a file.")] = False,
    home: Home = None,
) -> None:
    """Move the journal to PostgreSQL, or back to a file.

    The daemon has to be stopped. All rows are copied in one transaction and compared. What they
    come from is kept, but no daemon uses it any more.
    """
    if (to is None) is not back:
        raise ConfigError("say where it moves: --to postgresql://user@host/name, or --back")
    require_driver()
    from orchestrator.journal import moving  # noqa: PLC0415 - optional

    settings = load_settings(home)
    require_owner(settings.home)
    server = settings.journal
    if to is not None:
        if not to.startswith(SCHEMES):
            raise ConfigError(f"--to: the address must begin with {SCHEMES[0]}")
        server = DatabaseServer(to, settings.paths.journal)
    if not isinstance(server, DatabaseServer):
        raise ConfigError("ORCHESTRATOR_STORE is not set, so the journal is a file already")
    aside: Path | None = settings.paths.journal
    copied: Copied | None
    if to is not None:
        with reading(settings.paths.journal):
            pass  # raises if there is no journal to move
    with locked(settings):
        if to is not None:
            copied = moving.move_to_server(server)
        else:
            copied, aside = moving.move_back(server)
    typer.echo(
        f"copied and compared {count(copied.rows, 'row')} of {count(copied.tables, 'table')}"
        if copied is not None
        else "a move was interrupted before; the file has the journal"
    )
    if to is not None:
        typer.echo(f"now set ORCHESTRATOR_STORE to the address of {server}, and start the daemon")
    else:
        typer.echo("now unset ORCHESTRATOR_STORE, and start the daemon")
    if aside is not None:
        typer.echo(f"the file as it was before is kept  {printable(str(aside))}")
