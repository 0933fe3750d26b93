"""``orchestrator dashboard``: open the page, and decide who may use it."""

import os
import webbrowser
from contextlib import suppress
from functools import partial
from typing import Annotated

import typer

from orchestrator.cli.client import ask_daemon, send_order
from orchestrator.cli.commands import make_command_group
from orchestrator.cli.loaded_settings import load_agents, load_environment
from orchestrator.cli.options import AsJson, Home, load_settings
from orchestrator.cli.output import format_minute, print_text
from orchestrator.cli.tables import Columns, print_listing
from orchestrator.errors import NotRunningError, OrchestratorError
from orchestrator.extensions.page.daemon_side import page_protocol
from orchestrator.extensions.page.daemon_side.page_protocol import (
    PageAddress,
    PageGuest,
    PageSessions,
    SessionName,
)
from orchestrator.extensions.page.page_zone import choose_page_zone

ONCE = "The link works once, within {time}. It logs in {who}."
LOCAL_HOST = "orchestrator.localhost"  # which programs other than browsers may not resolve
OFFLINE = "The link works once, until Ctrl-C ends the page."
SCREEN = ("DISPLAY", "WAYLAND_DISPLAY")  # where a browser can open

LOGINS: Columns = {
    "id": "id",
    "user": "user",
    "role": "role",
    "agents": lambda login: "all" if login.agents is None else ", ".join(login.agents),
    "since (UTC)": lambda login: format_minute(login.made),
    "last seen (UTC)": lambda login: format_minute(login.last),
    "browser": "label",
}
app = make_command_group("dashboard")
app.info.no_args_is_help = False


@app.callback(invoke_without_command=True)
def dashboard(
    context: typer.Context,
    *,
    no_open: Annotated[
        bool, typer.Option("--no-open", help="Print the link without opening a browser.")
    ] = False,
    off: Annotated[bool, typer.Option("--off", help="Switch the page off.")] = False,
    offline: Annotated[
        bool,
        typer.Option(
            "--offline", help="Show the journal of the home without a daemon, until Ctrl-C."
        ),
    ] = False,
    home: Home = None,
) -> None:
    """Switch the page on and print a link that logs a browser in, or manage who is logged in."""
    if context.invoked_subcommand is not None:
        return
    settings = load_settings(home)
    if off:
        try:
            send_order(settings, page_protocol.DASHBOARD_CLOSE, None)
        except NotRunningError:
            settings.paths.page_on.unlink(missing_ok=True)
        print_text("the page is off; logins are kept")
        return
    if offline:
        # It brings a web server.
        from orchestrator.extensions.page.offline import serve_journal  # noqa: PLC0415 - see above

        file = None
        with suppress(OrchestratorError):  # a journal of another machine may have no agents.json
            file = load_agents(settings)
        zone = choose_page_zone(load_environment(settings), file)
        with suppress(KeyboardInterrupt):
            serve_journal(settings.journal, zone, partial(_offer_link, opens=not no_open))
        return
    address = ask_daemon(settings, page_protocol.DASHBOARD_OPEN, None, PageAddress)
    _print_address(address, ONCE.format(time="two minutes", who="the operator"))
    _open_link(address.url, opens=not (no_open or address.way))


def _offer_link(url: str, *, opens: bool) -> None:
    _print_address(PageAddress(url=url), OFFLINE)
    _open_link(url, opens=opens)


def _open_link(url: str, *, opens: bool) -> None:
    """Open a link in a browser, if wanted and possible."""
    if opens and any(map(os.environ.get, SCREEN)):
        with suppress(webbrowser.Error):
            webbrowser.open(url)


@app.command()
def sessions(*, as_json: AsJson = False, home: Home = None) -> None:
    """List who is logged in."""
    found = ask_daemon(load_settings(home), page_protocol.DASHBOARD_SESSIONS, None, PageSessions)
    print_listing(
        "Logins",
        found.sessions,
        LOGINS,
        key="sessions",
        empty="there are no logins; run: orchestrator dashboard",
        as_json=as_json,
    )


@app.command()
def revoke(
    name: Annotated[str, typer.Argument(metavar="NAME|ID", help="A user, or a login's id.")],
    *,
    home: Home = None,
) -> None:
    """End the logins and invitations of a user, or one login."""
    send_order(load_settings(home), page_protocol.DASHBOARD_REVOKE, SessionName(name=name))
    print_text(f"{name} has to log in again")


@app.command()
def invite(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the person.")],
    *,
    role: Annotated[
        page_protocol.Role,
        typer.Option("--role", help="Role of the person."),
    ] = "chat",
    agent: Annotated[
        list[str] | None,
        typer.Option("--agent", help="Agent to write to; repeat for more (default: all)."),
    ] = None,
    home: Home = None,
) -> None:
    """Print a one-time invitation link."""
    agents = tuple(agent) if agent else None
    try:
        guest = PageGuest(user=name, role=role, agents=agents)
    except ValueError:
        raise typer.BadParameter(
            "must be letters, digits, dots, dashes and underscores, at most 64"
        ) from None
    settings = load_settings(home)
    address = ask_daemon(settings, page_protocol.DASHBOARD_INVITE, guest, PageAddress)
    _print_address(address, ONCE.format(time="24 hours", who=f"{name} ({role})"))


def _print_address(address: PageAddress, about: str) -> None:
    """Print only the link on standard output, and notes about it on standard error."""
    typer.echo(address.url)
    print_text(about, err=True)
    if LOCAL_HOST in address.url:
        plain = address.url.replace(LOCAL_HOST, "127.0.0.1", 1)
        print_text(f"If your browser does not find it: {plain}", err=True)
    if address.way:
        print_text(address.way, err=True)
