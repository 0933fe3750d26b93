"""``orchestrator backup``."""

from pathlib import Path
from typing import Annotated

import typer

from orchestrator.backups.backup import write_backup
from orchestrator.cli._options import Home, command_group, load_settings
from orchestrator.cli._output import count, printable
from orchestrator.journal_address import DatabaseServer

KB, MB = 1_000, 1_000_000  # bytes

app = command_group()


@app.command()
def backup(
    path: Annotated[Path, typer.Argument(metavar="PATH", help="The new file, such as b.tar.gz.")],
    *,
    with_keys: Annotated[
        bool, typer.Option("--with-keys", help="Also keys.env and tokens. Keep such a file safe.")
    ] = False,
    home: Home = None,
) -> None:
    """Write a verified copy of the home, also while the daemon runs.

    It holds the journal and every file of state and configuration: all that was said, so only its
    owner can read it. Keys are left out, and so are sockets, locks, caches and logs.
    """
    settings = load_settings(home)
    report = write_backup(settings, path, keys=with_keys)
    manifest = report.manifest
    size = f"{report.size / MB:.1f} MB" if report.size >= MB else f"{report.size / KB:.0f} kB"
    what = "no journal" if manifest.schema is None else f"the journal (schema {manifest.schema})"
    typer.echo(f"written and verified  {printable(str(report.path))}")
    typer.echo(
        f"it holds {what} and {count(len(manifest.files) - (manifest.schema is not None), 'file')}"
        f" and folders of {settings.home}, {size}"
    )
    if isinstance(settings.journal, DatabaseServer):
        typer.echo(f"the journal is in {settings.journal}, so not in it; save that with: pg_dump")
    if not manifest.keys:
        typer.echo("keys are not in it; --with-keys adds them")
    for name in report.outside:
        typer.echo(f"only a link is in it, copy what it leads to yourself: {printable(name)}")
    if settings.config is not None and not settings.config.is_relative_to(settings.home):
        typer.echo(f"outside of the home, so not in it: {settings.config}")
