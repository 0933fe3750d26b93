"""``orchestrator selftest``."""

import json
import os
import random
import shutil
import signal
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import anyio
import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from orchestrator.cli._options import AsJson, command_group
from orchestrator.cli._output import printable
from orchestrator.cli._tables import table
from orchestrator.errors import ExitCode
from orchestrator.selftest import campaign
from orchestrator.selftest.campaign import AROUND, Bench, Plan, Tally
from orchestrator.selftest.invariants import CHECKS, ELSEWHERE
from orchestrator.selftest.runner import Result

HISTORIES = 1000
SPAWN = "ORCHESTRATOR_SPAWN"
COLUMNS = (
    "phase",
    "histories",
    "boundaries",
    "kills",
    "not reached",
    "lost",
    "duplicates",
    "re-run",
    "double effects",
    "strays",
    "unknown, reported",
    "other violations",
    "seconds",
)
PROMISES = ("lost", "duplicate", "re-run", "double effect")
app = command_group("selftest")


@dataclass
class _Report:
    """The results of a self-test. ``failures`` are pairs of the option that repeats one, and it."""

    seed: int
    tallies: dict[str, Tally] = field(default_factory=dict)
    failures: list[tuple[str, Result]] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def histories(self) -> int:
        return sum(tally.histories for tally in self.tallies.values())

    @property
    def recoveries(self) -> int:
        return sum(tally.recoveries for tally in self.tallies.values())

    @property
    def violations(self) -> int:
        return sum(tally.broken() for tally in self.tallies.values())


@app.command()
def crash(
    *,
    quick: Annotated[
        bool, typer.Option("--quick", help="Run a sample that takes two minutes.")
    ] = False,
    histories: Annotated[
        int, typer.Option(min=1, help="Random histories with several kills.")
    ] = HISTORIES,
    seed: Annotated[int | None, typer.Option(help="Repeat the histories of this seed.")] = None,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Histories at a time (default: one per CPU).")
    ] = None,
    history: Annotated[
        str | None,
        typer.Option(help="Run only this history, such as supervisor@plan:before#2;worker@300ms."),
    ] = None,
    keep: Annotated[
        bool, typer.Option("--keep", help="Keep the homes of failed histories.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Kill the real daemon and its workers with SIGKILL and check the effects outside.

    All servers are fakes on loopback; your home and your network are not touched. Kills happen
    first at every boundary of the journal and of the outside world, then at pairs of boundaries,
    then in random histories. Ctrl-C ends the test and prints the results so far.
    ORCHESTRATOR_SPAWN chooses how agents are started.
    """
    report = _Report(random.randrange(2**32) if seed is None else seed)  # noqa: S311 - no secret
    single = None if history is None else campaign.plan_of(history)
    started = time.monotonic()
    folder = Path(tempfile.mkdtemp(prefix="selftest-"))
    environ = {name: os.environ[name] for name in (SPAWN,) if name in os.environ}
    bench = Bench(folder, jobs or os.cpu_count() or 1, environ, keep=keep)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # like Ctrl-C, it stops the daemons
    try:
        anyio.run(_run, report, bench, single, (histories, quick))
    except KeyboardInterrupt:
        typer.echo("interrupted; results so far:", err=True)
    finally:
        if not (keep and any(folder.iterdir())):
            shutil.rmtree(folder)
    report.seconds = time.monotonic() - started
    if as_json:
        typer.echo(json.dumps(_as_json(report), indent=2))
    else:
        _show(report)
    raise typer.Exit(ExitCode.FAILED if report.violations else ExitCode.OK)


async def _run(report: _Report, bench: Bench, single: Plan | None, size: tuple[int, bool]) -> None:
    histories, quick = size
    if single is not None:
        plans = [single]
    else:
        counted = {name: await campaign.count(bench, name) for name in ("standard", *AROUND)}
        if quick:
            plans = campaign.quick_plans(counted, report.seed)
        else:
            plans = campaign.plans(counted, histories, report.seed)
    report.tallies = campaign.tallies(plans)
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
    ) as progress:
        bar = progress.add_task(f"seed {report.seed}", total=len(plans))

        def record(plan: Plan, result: Result) -> None:
            progress.advance(bar)
            report.tallies[plan.phase].add(result)
            if result.violations:
                report.failures.append((f"--history '{plan}'", result))

        await campaign.run_all(bench, plans, record)


def _show(report: _Report) -> None:
    table("Crash self-test", COLUMNS, (_row(tally) for tally in report.tallies.values()))
    for option, result in report.failures:
        typer.echo(f"{option}  {result.home if result.home.exists() else ''}")
        for violation in result.violations:
            typer.echo(printable(f"  {violation.check}: {violation.sentence}"))
    for number, reason in ELSEWHERE.items():
        typer.echo(f"invariant {number} is not checked here: {reason}")
    typer.echo(
        f"invariant 21: {report.recoveries} kills hit a recovery; the others were checked after it"
    )
    typer.echo(f"{len(CHECKS)} checks, seed {report.seed}, {report.seconds:.0f} s")
    typer.echo(f"{report.histories} histories, {report.violations} violations")


def _row(tally: Tally) -> tuple[object, ...]:
    promises = [tally.broken(name) for name in PROMISES]
    return (
        tally.phase,
        tally.histories,
        tally.boundaries,
        tally.verified,
        len(tally.unreached),
        *promises,
        tally.strays,
        tally.unknown,
        tally.broken() - sum(promises),
        round(tally.seconds),
    )


def _as_json(report: _Report) -> dict[str, object]:
    return {
        "seed": report.seed,
        "seconds": round(report.seconds, 1),
        "histories": report.histories,
        "violations": report.violations,
        "phases": [
            dict(zip(COLUMNS, _row(tally), strict=True)) for tally in report.tallies.values()
        ],
        "failures": [
            {
                "repeat": option,
                "home": str(result.home),
                "violations": [f"{v.check}: {v.sentence}" for v in result.violations],
            }
            for option, result in report.failures
        ],
        "recoveriesKilled": report.recoveries,
        "notChecked": dict(ELSEWHERE),
    }
