"""``orchestrator almanac``."""

from datetime import datetime
from typing import Annotated

import typer

from orchestrator.cli.commands import make_command_group
from orchestrator_almanac.moon import find_phase

app = make_command_group()


@app.command()
def almanac(
    day: Annotated[datetime, typer.Argument(formats=["%Y-%m-%d"], help="A day: 2030-01-31.")],
) -> None:
    """Print the phase of the moon on a day."""
    typer.echo(find_phase(day.date()))
