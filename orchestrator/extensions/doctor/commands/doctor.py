"""``orchestrator doctor``."""

import sys
from dataclasses import dataclass
from pathlib import Path

import typer

from orchestrator.agentsfile import AgentsFile
from orchestrator.cli.client import ask_daemon
from orchestrator.cli.commands import make_command_group
from orchestrator.cli.config_examination import examine_config
from orchestrator.cli.daemon_reports import PROCESSES, show_problems
from orchestrator.cli.options import AsJson, Home, load_settings
from orchestrator.cli.output import format_count, print_text
from orchestrator.cli.tables import Columns, describe_record, print_json, print_records
from orchestrator.config_problem import Problem
from orchestrator.control.protocol import STATUS, ProcessReport, StatusReport
from orchestrator.errors import ExitCode, NotRunningError, OrchestratorError
from orchestrator.extension import Finding
from orchestrator.extensions.doctor import examination
from orchestrator.extensions.doctor.jail_probes import (
    JailFinding,
    fork_stand_in,
    list_jail_kinds,
    probe_jails,
)
from orchestrator.settings import Settings

FINDINGS: Columns = {"subject": "subject", "verdict": "verdict", "finding": "text"}
JAILS: Columns = {
    "jail": "jail",
    "sandbox": "sandbox",
    "attempts": "attempts",
    "reached": lambda jail: ", ".join(jail.reached) or "nothing",
    "reason": "reason",
}
app = make_command_group()


@dataclass(frozen=True)
class DoctorReport:
    """The whole report; ``healthy`` unless there is a problem."""

    healthy: bool
    home: str
    running: bool
    findings: tuple[Finding, ...]
    jails: tuple[JailFinding, ...]
    processes: tuple[ProcessReport, ...]
    config_problems: tuple[Problem, ...]


@app.command()
def doctor(*, as_json: AsJson = False, home: Home = None) -> None:
    """Check everything that can go wrong; change nothing.

    Tries each kind of jail from inside and prints what it could reach; checks configuration, keys,
    channels, disk, clock, versions and what extensions look at. The exit code is 1 if there is a
    problem; warnings do not count.
    """
    report = _examine_home(load_settings(home))
    if as_json:
        print_json(describe_record(report, findings=list(map(_describe_finding, report.findings))))
    else:
        _print_report(report)
    raise typer.Exit(ExitCode.OK if report.healthy else ExitCode.FAILED)


def _examine_home(settings: Settings) -> DoctorReport:
    status = _fetch_status(settings)
    if status is not None:
        settings = settings.model_copy(update={"config": Path(status.config_file)})
    configured = examine_config(settings, settings.find_agents_file())
    file, problems = configured.file, configured.problems
    found = tuple(examination.list_findings(settings, file, configured.environ, status))
    jails = _probe_jails(settings, file, status)
    strict = file is not None and file.sandbox == "required"
    wrong = (
        any(one.verdict == "problem" for one in found)
        or any(one.severity == "error" for one in problems)
        or any(_is_open(one, strict=strict) for one in jails)
    )
    return DoctorReport(
        healthy=not wrong,
        home=str(settings.home),
        running=status is not None,
        findings=found,
        jails=jails,
        processes=() if status is None else status.processes,
        config_problems=tuple(problems),
    )


def _describe_finding(finding: Finding) -> dict[str, object]:
    return describe_record(finding, ("subject", "verdict", "text"))


def _is_open(jail: JailFinding, *, strict: bool) -> bool:
    """Return whether a jail is open or unproven; ``strict`` demands a full one."""
    if not jail.attempts:
        return True
    return bool(jail.unexpected) if jail.sandbox == "full" else strict


def _probe_jails(
    settings: Settings, file: AgentsFile | None, status: StatusReport | None
) -> tuple[JailFinding, ...]:
    """Probe the jails against the daemon, or against an equally hardened process."""
    if sys.stderr.isatty():
        typer.echo("trying the jails …", err=True)
    running = () if status is None else status.processes
    with fork_stand_in() as closed:
        pids = [process.pid for process in running if process.name == "supervisor"] or [closed]
        targets = examination.build_probe_targets(settings, file, pids[0])
        return probe_jails(targets, list_jail_kinds())


def _fetch_status(settings: Settings) -> StatusReport | None:
    try:
        return ask_daemon(settings, STATUS, None, StatusReport)
    except NotRunningError:
        return None
    except OrchestratorError as error:
        print_text(f"the daemon: {error}", err=True)
        return None


def _print_report(report: DoctorReport) -> None:
    print_records("Examined", report.findings, FINDINGS)
    print_records("Jails, tried from inside", report.jails, JAILS)
    print_records("Processes of the running daemon", report.processes, PROCESSES)
    show_problems(report.config_problems)
    for jail in report.jails:
        if jail.sandbox == "full" and jail.unexpected:
            names = ", ".join(jail.unexpected)
            print_text(f"the jail of the {jail.jail} does not hold: {names}")
        if not jail.attempts:
            print_text(f"the jail of the {jail.jail} was not tried: {jail.reason}")
    warnings = sum(one.verdict == "warning" for one in report.findings)
    warnings += sum(one.severity == "warning" for one in report.config_problems)
    state = "no problem" if report.healthy else "there are problems"
    typer.echo(f"{state}, {format_count(warnings, 'warning')}")
