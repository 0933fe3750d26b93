"""``orchestrator migrate``."""

from pathlib import Path
from typing import Annotated

import typer

from orchestrator.cli.commands import make_command_group
from orchestrator.cli.options import Home, load_settings
from orchestrator.cli.other_user import require_owner
from orchestrator.cli.output import format_count, make_printable
from orchestrator.errors import ConfigError
from orchestrator.extensions.postgresql.transfer import CopyCounts
from orchestrator.journal.opening import find_engine, open_for_reading
from orchestrator.journal_address import SCHEMES, DatabaseServer
from orchestrator.system.homelock import hold_lock

app = make_command_group()


@app.command()
def migrate(
    *,
    to: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="An empty database: postgresql://user@host/name."),
    ] = None,
    back: Annotated[bool, typer.Option("--back", help="Move from the database to a file.")] = False,
    home: Home = None,
) -> None:
    """Move the journal to PostgreSQL, or back to a file.

    The daemon must be stopped. All rows are copied in one transaction and compared. The source is
    kept, but no daemon uses it any more.
    """
    if (to is None) is not back:
        raise ConfigError("give a direction: --to postgresql://user@host/name, or --back")
    settings = load_settings(home)
    require_owner(settings.home)
    server = settings.journal
    if to is not None:
        if not to.startswith(SCHEMES):
            raise ConfigError(f"--to: the address must begin with {SCHEMES[0]}")
        server = DatabaseServer(to, settings.paths.journal)
    if not isinstance(server, DatabaseServer):
        raise ConfigError("ORCHESTRATOR_STORE is not set, so the journal is a file already")
    find_engine(server)  # raises if there is none
    from orchestrator.extensions.postgresql import moving  # noqa: PLC0415 - psycopg is optional

    aside: Path | None = settings.paths.journal
    copied: CopyCounts | None
    if to is not None:
        with open_for_reading(settings.paths.journal):
            pass  # raises if there is no journal to move
    with hold_lock(settings):
        if to is not None:
            copied = moving.move_to_server(server)
        else:
            copied, aside = moving.move_back(server)
    typer.echo(
        f"copied and compared {format_count(copied.rows, 'row')}"
        f" of {format_count(copied.tables, 'table')}"
        if copied is not None
        else "an earlier move was interrupted; the file has the journal"
    )
    if to is not None:
        typer.echo(f"now set ORCHESTRATOR_STORE to the address of {server}, and start the daemon")
    else:
        typer.echo("now unset ORCHESTRATOR_STORE, and start the daemon")
    if aside is not None:
        typer.echo(f"the earlier file is kept as {make_printable(str(aside))}")
