"""``orchestrator local-model``."""

from typing import Annotated

import typer

from orchestrator.cli.commands import make_command_group
from orchestrator.cli.options import Home, load_settings
from orchestrator.cli.other_user import require_owner
from orchestrator.errors import ExitCode
from orchestrator.extensions.local_model.model_download import list_downloads
from orchestrator.extensions.local_model.model_settings import FOLDER

app = make_command_group()


@app.command()
def local_model(
    *,
    yes: Annotated[bool, typer.Option("--yes", help="Ask nothing.")] = False,
    home: Home = None,
) -> None:
    """Download a model for the provider "local"."""
    settings = load_settings(home)
    require_owner(settings.home)
    wanted = tuple(list_downloads(settings.home))
    for one in wanted:
        typer.echo(f"{one.megabytes:4} MB  {one.what}")
    total = sum(one.megabytes for one in wanted)
    question = f"Download {total} MB, the model into {settings.home / FOLDER}?"
    if wanted and not yes and not typer.confirm(question):
        typer.echo("nothing was downloaded")
        raise typer.Exit(ExitCode.FAILED)
    for one in wanted:
        typer.echo(f"downloading {one.what} …")
        one.fetch(settings.home)
    typer.echo('the model is here; agents use it with "llmProvider": "local"')
