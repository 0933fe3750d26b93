"""``orchestrator api``: the token of the OpenAI-compatible endpoints."""

from contextlib import suppress
from typing import Annotated

import typer

from orchestrator.agentsfile import AgentsFileError, Channels, load
from orchestrator.cli._client import order
from orchestrator.cli._options import Home, command_group, environment, load_settings
from orchestrator.cli._other_user import require_owner
from orchestrator.control.protocol import API_REFRESH
from orchestrator.errors import NotRunningError
from orchestrator.http_api.token import TokenFile
from orchestrator.settings import Settings

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
    require_owner(settings.home)
    settings.paths.prepare()
    file = TokenFile(settings.paths.api_token)
    if revoke:
        typer.echo("revoked; the endpoints are closed" if file.revoke() else "there is no token")
    else:
        typer.echo(file.make())
        typer.echo(f"The token is not shown again. {_address(settings)}", err=True)
    with suppress(NotRunningError):  # the daemon reads the file when it starts
        order(settings, API_REFRESH, None)


def _address(settings: Settings) -> str:
    """Say where the daemon of these settings listens, now or once it runs."""
    port = settings.api_port
    if port is None:
        channels = Channels()
        with suppress(AgentsFileError):
            channels = load(settings.agents_file(), environment(settings)).file.channels
        port = channels.api.port
    if port == 0:
        return "The daemon takes a free port; orchestrator status shows it."
    return f"The endpoints are at http://127.0.0.1:{port}/v1 while the daemon runs."
