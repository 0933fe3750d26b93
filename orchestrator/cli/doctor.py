"""``orchestrator doctor``."""

import sys
from pathlib import Path

import typer

from orchestrator.agentsfile import AgentsFile
from orchestrator.cli._client import ask
from orchestrator.cli._examined import examined
from orchestrator.cli._options import AsJson, Home, command_group, load_settings
from orchestrator.cli._output import count
from orchestrator.cli._prose import say
from orchestrator.cli._tables import print_json, table
from orchestrator.cli.status import show_problems, show_processes
from orchestrator.control.protocol import STATUS, ConfigProblem, StatusReport
from orchestrator.doctor import examination
from orchestrator.doctor.findings import DoctorReport, JailFinding
from orchestrator.doctor.jail_probes import kinds, probe_all, stand_in
from orchestrator.errors import ExitCode, NotRunningError, OrchestratorError
from orchestrator.settings import Settings

app = command_group()


@app.command()
def doctor(*, as_json: AsJson = False, home: Home = None) -> None:
    """Look for everything that can be wrong; change nothing.

    It tries each kind of jail from inside and prints what it reached, and looks at configuration,
    keys, channels, disk, clock, versions and the service unit. The exit code is 1 if there is a
    problem; a warning does not count.
    """
    report = _examined(load_settings(home))
    if as_json:
        print_json(report)
    else:
        _show(report)
    raise typer.Exit(ExitCode.OK if report.healthy else ExitCode.FAILED)


def _examined(settings: Settings) -> DoctorReport:
    status = _status(settings)
    if status is not None:
        settings = settings.model_copy(update={"config": Path(status.config_file)})
    configured = examined(settings, settings.agents_file())
    file, problems = configured.file, configured.problems
    found = tuple(examination.findings(settings, file, configured.environ, status))
    jails = _jails(settings, file, status)
    strict = file is not None and file.sandbox == "required"
    wrong = [
        *(one for one in found if one.verdict == "problem"),
        *(one for one in problems if one.severity == "error"),
        *(one for one in jails if one.sandbox == "full" and one.unexpected),
        *(one for one in jails if strict and one.sandbox != "full"),
        *(one for one in jails if not one.attempts),
    ]
    return DoctorReport(
        healthy=not wrong,
        home=str(settings.home),
        running=status is not None,
        findings=found,
        jails=jails,
        processes=() if status is None else status.processes,
        config_problems=tuple(ConfigProblem.from_object(problem) for problem in problems),
    )


def _jails(
    settings: Settings, file: AgentsFile | None, status: StatusReport | None
) -> tuple[JailFinding, ...]:
    """Let the probes aim at the daemon, or at a process that is as closed as it would be."""
    if sys.stderr.isatty():
        typer.echo("trying the jails …", err=True)
    running = () if status is None else status.processes
    with stand_in() as closed:
        pids = [process.pid for process in running if process.name == "supervisor"] or [closed]
        targets = examination.targets(settings, file, pids[0])
        return probe_all(targets, kinds())


def _status(settings: Settings) -> StatusReport | None:
    try:
        return ask(settings, STATUS, None, StatusReport)
    except NotRunningError:
        return None
    except OrchestratorError as error:
        say(f"the daemon: {error}", err=True)
        return None


def _show(report: DoctorReport) -> None:
    table(
        "Examined",
        ("subject", "verdict", "finding"),
        ((one.subject, one.verdict, one.text) for one in report.findings),
    )
    table(
        "Jails, tried from inside",
        ("jail", "sandbox", "attempts", "reached", "reason"),
        (
            (j.jail, j.sandbox, j.attempts, ", ".join(j.reached) or "nothing", j.reason)
            for j in report.jails
        ),
    )
    show_processes("Processes of the running daemon", report.processes)
    show_problems(report.config_problems)
    for jail in report.jails:
        if jail.sandbox == "full" and jail.unexpected:
            names = ", ".join(jail.unexpected)
            say(f"the jail of the {jail.jail} does not hold: {names}")
        if not jail.attempts:
            say(f"the jail of the {jail.jail} was not tried: {jail.reason}")
    verdicts = [
        *(f.verdict for f in report.findings),
        *(p.severity for p in report.config_problems),
    ]
    warnings = verdicts.count("warning")
    state = "no problem" if report.healthy else "there are problems"
    typer.echo(f"{state}, {count(warnings, 'warning')}")
