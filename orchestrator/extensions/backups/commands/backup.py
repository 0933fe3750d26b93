"""``orchestrator backup``."""

from pathlib import Path
from typing import Annotated

import typer

from orchestrator.cli.commands import make_command_group
from orchestrator.cli.options import Home, load_settings
from orchestrator.cli.output import format_count, make_printable
from orchestrator.extensions.backups.backup import write_backup
from orchestrator.journal_address import DatabaseServer

KB, MB = 1_000, 1_000_000  # bytes

app = make_command_group()


@app.command()
def backup(
    path: Annotated[Path, typer.Argument(metavar="PATH", help="The new file, such as b.tar.gz.")],
    *,
    with_keys: Annotated[
        bool,
        typer.Option("--with-keys", help="Include keys.env and tokens. Keep such a file safe."),
    ] = False,
    home: Home = None,
) -> None:
    """Write a verified copy of the home, also while the daemon runs.

    It holds the journal and all files of state and configuration; only its owner can read it.
    Keys, sockets, locks, caches and logs are left out.
    """
    settings = load_settings(home)
    report = write_backup(settings, path, keys=with_keys)
    manifest = report.manifest
    size = f"{report.size / MB:.1f} MB" if report.size >= MB else f"{report.size / KB:.0f} kB"
    what = "no journal" if manifest.schema is None else f"the journal (schema {manifest.schema})"
    files = format_count(len(manifest.files) - (manifest.schema is not None), "file")
    typer.echo(f"written and verified  {make_printable(str(report.path))}")
    typer.echo(f"it holds {what} and {files} and folders of {settings.home}, {size}")
    if isinstance(settings.journal, DatabaseServer):
        typer.echo(
            f"the journal is in {settings.journal}, not in the backup; save it with: pg_dump"
        )
    if not manifest.keys:
        typer.echo("keys are not included; --with-keys adds them")
    for name in report.outside:
        link = make_printable(name)
        typer.echo(f"the backup holds only the symbolic link; copy its target yourself: {link}")
    if settings.config is not None and not settings.config.is_relative_to(settings.home):
        typer.echo(f"outside the home, so not in the backup: {settings.config}")
