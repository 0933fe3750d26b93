"""``orchestrator api``: the token of the OpenAI-compatible endpoints."""

from contextlib import suppress
from typing import Annotated

import typer

from orchestrator.cli._client import order
from orchestrator.cli._options import Home, command_group, load_settings
from orchestrator.control.protocol import API_REFRESH
from orchestrator.errors import NotRunningError
from orchestrator.http_api.token import TokenFile

app = command_group("api")


@app.command()
def token(
    *,
    revoke: Annotated[
        bool, typer.Option("--revoke", help="Delete the token and close the endpoints.")
    ] = False,
    home: Home = None,
) -> None:
    """Create and print the token that clients send; an earlier token becomes invalid.

    The endpoints are open only while a token exists.
    """
    settings = load_settings(home)
    settings.paths.prepare()
    file = TokenFile(settings.paths.api_token)
    if revoke:
        typer.echo("revoked; the endpoints are closed" if file.revoke() else "there is no token")
    else:
        typer.echo(file.make())
        typer.echo(
            "The token is not shown again. The endpoints are at http://127.0.0.1:8484/v1, unless\n"
            'ORCHESTRATOR_API_PORT or "channels": {"api": {"port": …}} names another port.',
            err=True,
        )
    with suppress(NotRunningError):  # the daemon reads the file when it starts
        order(settings, API_REFRESH, None)
