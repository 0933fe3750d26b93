"""``orchestrator api``: the token of the OpenAI-compatible endpoints."""

import time
from contextlib import suppress
from typing import Annotated

import typer

from orchestrator.agentsfile import AgentsFileError, Channels, load_agents_file
from orchestrator.cli.client import ask_daemon, send_order
from orchestrator.cli.commands import make_command_group
from orchestrator.cli.options import Home, load_environment, load_settings
from orchestrator.cli.other_user import require_owner
from orchestrator.control.protocol import STATUS, StatusReport
from orchestrator.errors import NotRunningError
from orchestrator.extensions.http_api.api_service import OFF
from orchestrator.extensions.http_api.api_settings import ApiSettings
from orchestrator.extensions.http_api.http_api_part import API_REFRESH
from orchestrator.extensions.http_api.token import TokenFile
from orchestrator.settings import Settings

OPENS_WITHIN = 5.0  # seconds
PAUSE = 0.1  # seconds between two looks

app = make_command_group("api")


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
    settings.paths.create_directories()
    file = TokenFile(settings.paths.api_token)
    if revoke:
        typer.echo(
            "revoked; the endpoints are closed" if file.revoke_token() else "no token exists"
        )
    else:
        typer.echo(file.make_token())
    place = _describe_address(settings)
    with suppress(NotRunningError):  # the daemon reads the file when it starts
        send_order(settings, API_REFRESH, None)
        place = place if revoke else _find_address(settings) or place
    if not revoke:
        typer.echo(f"The token is not shown again. {place}", err=True)


def _find_address(settings: Settings) -> str:
    """Describe where the running daemon listens, which its own environment may decide."""
    end = time.monotonic() + OPENS_WITHIN
    while True:
        channels = ask_daemon(settings, STATUS, None, StatusReport).channels
        detail = next((channel.detail for channel in channels if channel.name == "api"), "")
        if detail != OFF or time.monotonic() > end:
            break
        time.sleep(PAUSE)
    if detail.startswith("http"):
        return f"The endpoints are at {detail} while the daemon runs."
    return "" if detail in ("", OFF) else f"The endpoints are not open: {detail}."


def _describe_address(settings: Settings) -> str:
    """Describe where the daemon listens, now or once it runs."""
    port = settings.api_port
    if port is None:
        channels = Channels()
        with suppress(AgentsFileError):
            channels = load_agents_file(
                settings.find_agents_file(), load_environment(settings)
            ).file.channels
        port = channels.get_settings(ApiSettings).port
    if port == 0:
        return "The daemon takes a free port; orchestrator status shows it."
    return f"The endpoints are at http://127.0.0.1:{port}/v1 while the daemon runs."
