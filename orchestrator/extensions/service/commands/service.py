"""``orchestrator service``."""

import os
import shlex
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from orchestrator.cli.commands import make_command_group
from orchestrator.cli.other_user import find_program
from orchestrator.cli.output import make_printable
from orchestrator.errors import ConfigError, ExitCode
from orchestrator.extensions.service import program_paths, service_state, systemd_unit
from orchestrator.extensions.service.service_host import ServiceHost
from orchestrator.extensions.service.service_steps import ServiceStep, run_steps
from orchestrator.settings import PREFIX
from orchestrator.system.home_owner import find_user_name
from orchestrator.system.installed_units import (
    UNIT,
    InstalledUnit,
    Scope,
    list_installed_units,
)

PROGRAM = (sys.executable, "-P", "-m", "orchestrator")
NO_NAMESPACES = (
    "you may not make user namespaces on this machine, so the unit omits settings that need them"
    " (ProtectHome, ProtectSystem, PrivateTmp and others); the daemon's own jails are in force"
)
OTHER_HOME = "ORCHESTRATOR_HOME is {own}, the service uses {home}; copy the files with --from {own}"
NO_SYSTEMD = "systemd does not run this machine"

User = Annotated[bool, typer.Option("--user", help="The service of this user, without root.")]
System = Annotated[bool, typer.Option("--system", help="The service of this machine, as root.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Print the steps without taking them.")]

app = make_command_group("service")


@app.command()
def install(
    *,
    user: User = False,
    system: System = False,
    source: Annotated[
        Path | None,
        typer.Option(
            "--from", help="Copy agents.json, keys.env, prompts, skills and hooks of this home."
        ),
    ] = None,
    now: Annotated[bool, typer.Option("--now", help="Also start it.")] = False,
    dry_run: DryRun = False,
) -> None:
    """Install a systemd service: its user, its home and its unit.

    A system service runs as the user orchestrator, with the home /var/lib/orchestrator; a user
    service runs as you, with ~/.orchestrator. Existing files are kept: it also repairs and updates.
    """
    host = _choose_host(user=user, system=system)
    if not dry_run:
        _require_root(host.scope)
    namespaces = system or systemd_unit.can_use_namespaces()
    if namespaces and not dry_run:
        program_paths.require_visible(host.scope, program_paths.iter_needed_paths())
    if not namespaces:
        typer.echo(NO_NAMESPACES, err=True)
    own = os.environ.get(f"{PREFIX}HOME")
    if user and own and Path(own).expanduser() != host.home_path:
        typer.echo(OTHER_HOME.format(own=own, home=host.home_path), err=True)
    steps = host.plan_install(
        PROGRAM, source and source.expanduser().absolute(), now=now, namespaces=namespaces
    )
    if dry_run:
        unit = systemd_unit.render_unit(host.scope, (*PROGRAM, "run"), namespaces=namespaces)
        _print_lines(
            [*(f"# {step.command}" for step in steps), f"# {host.unit_path}:", *unit.splitlines()]
        )
        if namespaces:  # show the plan before the refusal
            program_paths.require_visible(host.scope, program_paths.iter_needed_paths())
        return
    try:
        _carry_out_steps(steps)
    except ConfigError as error:
        if not (now and host.is_booted and host.unit_path.exists()):
            raise
        typer.echo(f"{make_printable(str(error))}\n", err=True)
        _show_unit(_build_unit(host))
        raise typer.Exit(ExitCode.FAILED) from error
    _print_lines(_list_next_steps(host, now=now))
    if now:
        _exit_with_state(host)


@app.command()
def status(*, user: User = False, system: System = False) -> None:
    """Show whether the service is installed, enabled and running, and where its log is.

    The exit code is 3 if it is not running.
    """
    scopes = _choose_scopes(user=user, system=system)
    units = [unit for unit in list_installed_units(Path.home()) if unit.scope in scopes]
    if not units:
        typer.echo("no service is installed; try: orchestrator service install --user")
        raise typer.Exit(ExitCode.NOT_RUNNING)
    running = [_show_unit(unit) for unit in units]
    if not any(running):
        raise typer.Exit(ExitCode.NOT_RUNNING)


@app.command()
def uninstall(*, user: User = False, system: System = False, dry_run: DryRun = False) -> None:
    """Stop the service and remove its unit; its home and data stay."""
    scopes = _choose_scopes(user=user, system=system)
    units = [unit for unit in list_installed_units(Path.home()) if unit.scope in scopes]
    if not units:
        raise ConfigError("no service is installed")
    if len(units) > 1:
        raise typer.BadParameter("there are two services; give either --user or --system")
    unit = units[0]
    host = ServiceHost(unit.scope, Path.home())
    steps = host.plan_uninstall(unit)
    if dry_run:
        _print_lines(f"# {step.command}" for step in steps)
        return
    _require_root(unit.scope)
    _carry_out_steps(steps)
    _print_lines(
        [
            f"\nThe service is removed. Its data stays in {unit.home}; to delete that too:",
            f"  {'sudo ' if unit.user else ''}rm -r {shlex.quote(str(unit.home))}",
            *([f"  sudo userdel {unit.user}"] if unit.user else ()),
        ]
    )


def _choose_host(*, user: bool, system: bool) -> ServiceHost:
    if user == system:
        raise typer.BadParameter("give either --user or --system")
    return ServiceHost("user" if user else "system", Path.home())


def _choose_scopes(*, user: bool, system: bool) -> tuple[Scope, ...]:
    if user and system:
        raise typer.BadParameter("give either --user or --system")
    return ("user",) if user else ("system",) if system else ("system", "user")


def _require_root(scope: Scope) -> None:
    if scope == "system" and os.geteuid():
        again = shlex.join(["sudo", *find_program(), *sys.argv[1:]])
        raise ConfigError(f"a system service needs root; try: {again}")


def _carry_out_steps(steps: Iterable[ServiceStep]) -> None:
    for line in run_steps([*steps]):
        typer.echo(make_printable(line))


def _list_next_steps(host: ServiceHost, *, now: bool) -> Iterable[str]:
    """Yield where everything is, and the next commands."""
    sudo, edit = ("sudo ", "sudoedit") if host.scope == "system" else ("", '"${EDITOR:-nano}"')
    flag, home = f"--{host.scope}", shlex.quote(str(host.home_path))
    me = shlex.join(find_program())
    own = f"sudo -u {host.account} {me}" if host.scope == "system" else me
    yield f"\nunit    {host.unit_path}\nhome    {host.home_path}"
    yield f"agents  {host.home_path}/agents.json\nkeys    {host.home_path}/keys.env"
    yield "\nNext:"
    yield f"  {edit} {home}/keys.env     # a model key, and TELEGRAM_BOT_TOKEN"
    yield f"  {edit} {home}/agents.json"
    yield f"  {own} check --home {home}"
    if not host.is_booted:
        yield f"  # {NO_SYSTEMD}: on one that it runs,"
        for step in host.plan_start(now=True):
            yield f"  {sudo}{step.command}"
    else:
        why = "     # takes another TELEGRAM_BOT_TOKEN" if now else ""
        yield f"  {sudo}{shlex.join(host.build_systemctl_command('restart', UNIT))}{why}"
    if host.scope == "user":
        yield "  loginctl enable-linger     # it keeps running after you log out"
    yield f"  {me} service status {flag}"


def _exit_with_state(host: ServiceHost) -> None:
    if not host.is_booted:
        raise ConfigError(f"{NO_SYSTEMD}, so the service was not started")
    typer.echo("")
    if not _show_unit(_build_unit(host)):
        raise typer.Exit(ExitCode.FAILED)


def _build_unit(host: ServiceHost) -> InstalledUnit:
    account = host.account if host.scope == "system" else ""
    return InstalledUnit(host.scope, host.unit_path, host.home_path, account)


def _show_unit(unit: InstalledUnit) -> bool:
    """Show the state of a service; return whether it runs."""
    host = ServiceHost(unit.scope, Path.home())
    user = unit.user or find_user_name(os.geteuid())
    rows = {"service": f"{unit.scope}, {unit.path}"}
    running = False
    if host.is_booted:
        state = service_state.query_service_state(host)
        running = state.running
        rows |= state.facts
    else:
        rows["state"] = f"not running: {NO_SYSTEMD}; start the daemon with: orchestrator run"
    flag = "--user " if unit.scope == "user" else ""
    prefix = f"sudo -u {unit.user} " if unit.user else ""
    rows["home"] = f"{unit.home}, of the user {user}"
    rows["logs"] = f"journalctl {flag}--unit orchestrator --lines 100 --follow"
    rows["more"] = (
        f"{prefix}{shlex.join(find_program())} status --home {shlex.quote(str(unit.home))}"
    )
    for name, text in rows.items():
        first, *more = text.splitlines()
        _print_lines([f"{name:9}{first}", *(f"{'':9}{line}" for line in more)])
    return running


def _print_lines(lines: Iterable[str]) -> None:
    for line in lines:
        typer.echo(make_printable(line))
