"""``orchestrator check``."""

from pathlib import Path
from typing import Annotated

import typer

from orchestrator.cli.check_report import print_check
from orchestrator.cli.commands import make_command_group
from orchestrator.cli.options import AsJson, Home

app = make_command_group()


@app.command()
def check(
    path: Annotated[
        Path | None,
        typer.Argument(metavar="PATH", help="File to check (default: the one `run` would use)."),
    ] = None,
    *,
    as_json: AsJson = False,
    home: Home = None,
) -> None:
    """Check agents.json, the prompts and the skills, and list every problem."""
    raise typer.Exit(print_check(home, path, as_json=as_json))
