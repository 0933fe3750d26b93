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
    "unknown and told",
    "other violations",
    "seconds",
)
PROMISES = ("lost", "duplicate", "re-run", "double effect")
app = command_group()


@dataclass
class _Report:
    """What is printed in the end."""

    seed: int
    tallies: dict[str, Tally] = field(default_factory=dict)
    failures: list[tuple[str, Result]] = field(default_factory=list)  # how to repeat it
    seconds: float = 0.0

    @property
    def histories(self) -> int:
        return sum(len(tally.results) for tally in self.tallies.values())

    @property
    def recoveries(self) -> int:
        return sum(tally.recoveries for tally in self.tallies.values())

    @property
    def violations(self) -> int:
        return sum(tally.broken() for tally in self.tallies.values())


@app.callback()
def _selftest() -> None:
    """Prove on this machine that no crash loses or repeats anything."""


@app.command()
def crash(
    *,
    quick: Annotated[bool, typer.Option("--quick", help="A sample, in two minutes.")] = False,
    histories: Annotated[int, typer.Option(min=1, help="How many with several kills.")] = HISTORIES,
    seed: Annotated[int | None, typer.Option(help="Repeat the histories of this seed.")] = None,
    jobs: Annotated[int | None, typer.Option(min=1, help="How many at a time.")] = None,
    history: Annotated[
        str | None, typer.Option(help="Run this one alone: supervisor@plan:before#2;worker@300ms.")
    ] = None,
    keep: Annotated[bool, typer.Option("--keep", help="Keep the homes of what failed.")] = False,
    as_json: AsJson = False,
) -> None:
    """Kill the real daemon and its workers with SIGKILL and check what the world saw.

    It runs in a world of fakes on loopback and touches nothing of yours. First every boundary of
    the journal and of the outside world, then pairs, then random histories. Ctrl-C shows what was
    run so far. ORCHESTRATOR_SPAWN says how its agents are started.
    """
    report = _Report(random.randrange(2**32) if seed is None else seed)  # noqa: S311 - no secret
    alone = None if history is None else campaign.plan_of(history)
    began = time.monotonic()
    folder = Path(tempfile.mkdtemp(prefix="selftest-"))
    passed = {name: os.environ[name] for name in (SPAWN,) if name in os.environ}
    bench = Bench(folder, jobs or os.cpu_count() or 1, passed, keep=keep)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # end like Ctrl-C: daemons first
    try:
        anyio.run(_run, report, bench, alone, (histories, quick))
    except KeyboardInterrupt:
        typer.echo("interrupted; this is what was run", err=True)
    finally:
        if not (keep and any(folder.iterdir())):
            shutil.rmtree(folder)
    report.seconds = time.monotonic() - began
    if as_json:
        typer.echo(json.dumps(_as_json(report), indent=2))
    else:
        _show(report)
    raise typer.Exit(ExitCode.FAILED if report.violations else ExitCode.OK)


async def _run(report: _Report, bench: Bench, alone: Plan | None, size: tuple[int, bool]) -> None:
    if alone is not None:
        todo = [alone]
    else:
        counted = {name: await campaign.count(bench, name) for name in ("standard", *AROUND)}
        if size[1]:
            todo = campaign.quick_plans(counted, report.seed)
        else:
            todo = campaign.plans(counted, size[0], report.seed)
    report.tallies = campaign.tallies(todo)
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
    ) as progress:
        bar = progress.add_task(f"seed {report.seed}", total=len(todo))

        def done(plan: Plan, result: Result) -> None:
            progress.advance(bar)
            report.tallies[plan.phase].results.append(result)
            if result.violations:
                report.failures.append((f"--history '{plan}'", result))

        await campaign.run_all(bench, todo, done)


def _show(report: _Report) -> None:
    table("Crash self-test", COLUMNS, (_row(tally) for tally in report.tallies.values()))
    for how, result in report.failures:
        typer.echo(f"{how}  {result.home if result.home.exists() else ''}")
        for violation in result.violations:
            typer.echo(printable(f"  {violation.check}: {violation.sentence}"))
    for number, place in ELSEWHERE.items():
        typer.echo(f"invariant {number} is not checked here: {place}")
    typer.echo(
        f"invariant 21: {report.recoveries} kills hit a recovery; all else was checked after them"
    )
    typer.echo(f"{len(CHECKS)} checks, seed {report.seed}, {report.seconds:.0f} s")
    typer.echo(f"{report.histories} histories, {report.violations} violations")


def _row(tally: Tally) -> tuple[object, ...]:
    promises = [tally.broken(name) for name in PROMISES]
    return (
        tally.phase,
        len(tally.results),
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
                "repeat": how,
                "home": str(result.home),
                "violations": [f"{v.check}: {v.sentence}" for v in result.violations],
            }
            for how, result in report.failures
        ],
        "recoveriesKilled": report.recoveries,
        "notChecked": dict(ELSEWHERE),
    }
