"""``orchestrator dashboard``: open the page, and decide who may use it."""

import os
import webbrowser
from contextlib import suppress
from functools import partial
from typing import Annotated

import typer

from orchestrator.cli._client import ask, order
from orchestrator.cli._options import AsJson, Home, command_group, load_settings
from orchestrator.cli._output import minute
from orchestrator.cli._prose import say
from orchestrator.cli._tables import listing
from orchestrator.control import page_protocol
from orchestrator.control.page_protocol import PageAddress, PageGuest, PageSessions, SessionName
from orchestrator.errors import NotRunningError
from orchestrator.timezones import zone_or_utc

ONCE = "The link works once, within {time}. Who opens it is {who}."
SCREEN = ("DISPLAY", "WAYLAND_DISPLAY")  # where a browser can open

app = command_group("dashboard")
app.info.no_args_is_help = False


@app.callback(invoke_without_command=True)
def dashboard(
    context: typer.Context,
    *,
    no_open: Annotated[
        bool, typer.Option("--no-open", help="Print the link, and open no browser.")
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
            order(settings, page_protocol.DASHBOARD_CLOSE, None)
        except NotRunningError:
            settings.paths.page_on.unlink(missing_ok=True)
        say("the page is off; logins are kept")
        return
    if offline:
        # It brings a web server.
        from orchestrator.page.offline import show  # noqa: PLC0415 - see above

        zone = zone_or_utc(None, os.environ)
        with suppress(KeyboardInterrupt):
            show(settings.journal, zone, partial(_offer, opens=not no_open))
        return
    address = ask(settings, page_protocol.DASHBOARD_OPEN, None, PageAddress)
    _print(address, ONCE.format(time="two minutes", who="the operator"))
    _open(address.url, opens=not (no_open or address.way))


def _offer(url: str, *, opens: bool) -> None:
    typer.echo(url)
    _open(url, opens=opens)


def _open(url: str, *, opens: bool) -> None:
    """Open a link where there is a screen, if that is wanted."""
    if opens and any(map(os.environ.get, SCREEN)):
        with suppress(webbrowser.Error):
            webbrowser.open(url)


@app.command()
def sessions(*, as_json: AsJson = False, home: Home = None) -> None:
    """List who is logged in."""
    found = ask(load_settings(home), page_protocol.DASHBOARD_SESSIONS, None, PageSessions)
    listing(
        found,
        "Logins",
        ("id", "user", "role", "agents", "since (UTC)", "last seen (UTC)", "browser"),
        (
            (
                *(i.id, i.user, i.role, "all" if i.agents is None else ", ".join(i.agents)),
                *(minute(i.made), minute(i.last), i.label),
            )
            for i in found.sessions
        ),
        empty="no one is logged in; run: orchestrator dashboard",
        as_json=as_json,
    )


@app.command()
def revoke(
    name: Annotated[str, typer.Argument(metavar="NAME|ID", help="A user, or a login's id.")],
    *,
    home: Home = None,
) -> None:
    """End the logins and invitations of a user, or one login."""
    order(load_settings(home), page_protocol.DASHBOARD_REVOKE, SessionName(name=name))
    say(f"{name} has to log in anew")


@app.command()
def invite(
    name: Annotated[str, typer.Argument(metavar="NAME", help="What to call the person.")],
    *,
    role: Annotated[
        page_protocol.Role,
        typer.Option("--role", help="What the person may do."),
    ] = "chat",
    agent: Annotated[
        list[str] | None,
        typer.Option("--agent", help="An agent to write to; repeat it. Default: all."),
    ] = None,
    home: Home = None,
) -> None:
    """Print a link that lets someone else in, once."""
    agents = tuple(agent) if agent else None
    try:
        guest = PageGuest(user=name, role=role, agents=agents)
    except ValueError:
        raise typer.BadParameter(
            "must be letters, digits, dots, dashes and underscores, at most 64"
        ) from None
    settings = load_settings(home)
    address = ask(settings, page_protocol.DASHBOARD_INVITE, guest, PageAddress)
    _print(address, ONCE.format(time="24 hours", who=f"{name} ({role})"))


def _print(address: PageAddress, about: str) -> None:
    """Print a link alone on standard output; what is to know about it beside that."""
    typer.echo(address.url)
    say(about, err=True)
    if address.way:
        say(address.way, err=True)
