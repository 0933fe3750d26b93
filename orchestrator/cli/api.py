"""``orchestrator api``: the token of the OpenAI-compatible endpoints."""

from contextlib import suppress
from typing import Annotated

import typer

from orchestrator.cli._client import ask
from orchestrator.cli._options import Home, command_group, settings
from orchestrator.control.protocol import API_REFRESH, Ack
from orchestrator.errors import NotRunningError
from orchestrator.http_api.token import TokenFile

app = command_group()


@app.callback()
def _group() -> None:
    """Open the OpenAI-compatible endpoints, or close them."""


@app.command()
def token(
    *,
    revoke: Annotated[bool, typer.Option("--revoke", help="Close the endpoints.")] = False,
    home: Home = None,
) -> None:
    """Make the token that programs send, and print it once; an earlier one ends.

    The endpoints exist only while there is one.
    """
    given = settings(home)
    given.paths.prepare()
    file = TokenFile(given.paths.api_token)
    if revoke:
        typer.echo("revoked; the endpoints are closed" if file.revoke() else "there is no token")
    else:
        typer.echo(file.make())
        typer.echo(
            "It is not shown again. The endpoints are at http://127.0.0.1:PORT/v1;", err=True
        )
        typer.echo(
            'PORT is 8484, "channels": {"api": {"port": …}} or ORCHESTRATOR_API_PORT.', err=True
        )
    with suppress(NotRunningError):  # the next start reads the file
        ask(given, API_REFRESH, None, Ack)
