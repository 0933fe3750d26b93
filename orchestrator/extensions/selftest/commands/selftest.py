"""``orchestrator selftest``."""

import json
import os
import random
import shutil
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Annotated

import anyio
import typer

from orchestrator import __version__
from orchestrator.cli.commands import make_command_group
from orchestrator.cli.options import AsJson, load_settings
from orchestrator.cli.output import print_text
from orchestrator.cli.tables import print_table
from orchestrator.errors import ConfigError, ExitCode
from orchestrator.extensions.selftest.commands.attacks import attacks
from orchestrator.extensions.selftest.commands.crash_options import (
    CrashCommand,
    History,
    Keep,
    Quick,
)
from orchestrator.extensions.selftest.commands.long_command import (
    interrupt_on_sigterm,
    make_progress_bar,
)
from orchestrator.extensions.selftest.commands.simulate import simulate
from orchestrator.extensions.selftest.crash import campaign, last_run
from orchestrator.extensions.selftest.crash.campaign import Bench, Plan, Tally
from orchestrator.extensions.selftest.crash.daemon_process import (
    DATABASE,
    SPAWN,
    ForkServer,
    StartDaemon,
)
from orchestrator.extensions.selftest.crash.invariants import CHECKS, ELSEWHERE
from orchestrator.extensions.selftest.crash.journals import Journals, open_journals
from orchestrator.extensions.selftest.crash.last_run import LastRun
from orchestrator.extensions.selftest.crash.runner import Result
from orchestrator.extensions.selftest.crash.scratch_place import find_memory_folder
from thinker.protocol import logs

RANDOM, PAIRS = 1000, 500  # histories
JOBS_PER_CPU = 3  # histories mostly wait
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
STORE, JOBS = "SELFTEST_STORE", "SELFTEST_JOBS"
PROMISES = ("lost", "duplicate", "re-run", "double effect")
app = make_command_group("selftest")
app.command()(attacks)
app.command()(simulate)


@dataclass
class _Report:
    """The results of a self-test; ``failures`` pairs repeating options and results."""

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
        return sum(tally.count_violations() for tally in self.tallies.values())


@app.command(cls=CrashCommand)
def crash(
    *,
    quick: Quick = False,
    random_histories: Annotated[
        int, typer.Option("--random", min=0, help="Random histories of two to five kills.")
    ] = RANDOM,
    pairs: Annotated[int, typer.Option(min=0, help="Histories with a killed restart.")] = PAIRS,
    seed: Annotated[int | None, typer.Option(help="Repeat the histories of this seed.")] = None,
    history: History = None,
    keep: Keep = False,
    as_json: AsJson = False,
) -> None:
    """Kill the real daemon and its workers, among fakes, and check the effects.

    Kills happen at every boundary of the journal and of the outside world, at pairs of them and at
    random; with --nodes, machines, network and server fail. Ctrl-C prints the results so far.
    """
    logs.configure_logging("error")  # only errors may interrupt the report
    report = _Report(random.randrange(2**32) if seed is None else seed)  # noqa: S311 - no secret
    single = None if history is None else campaign.parse_plan(history)
    started = time.monotonic()
    jobs = _parse_jobs(os.environ.get(JOBS))
    homes = Path(tempfile.mkdtemp(prefix="selftest-", dir=find_memory_folder()))
    environ = {name: os.environ[name] for name in (SPAWN,) if name in os.environ}
    size = _Size(single=single, quick=quick, pairs=pairs, random=random_histories)
    interrupt_on_sigterm()
    try:
        make = partial(Bench, homes, jobs, environ=environ, keep=keep)
        anyio.run(_run_histories, report, size, make, os.environ.get(STORE))
    except KeyboardInterrupt:
        typer.echo("interrupted; results so far:", err=True)
    else:
        if single is None:
            _save_last_run(load_settings(None).paths.last_selftest, report)
    finally:
        if not (keep and any(homes.iterdir())):
            shutil.rmtree(homes)
    report.seconds = time.monotonic() - started
    if as_json:
        typer.echo(json.dumps(_build_json_report(report), indent=2))
    else:
        _show_report(report)
    raise typer.Exit(ExitCode.FAILED if report.violations else ExitCode.OK)


def _parse_jobs(given: str | None) -> int:
    """Return the number of histories to run at a time.

    Raises:
        ConfigError: the setting is not a positive number.
    """
    if not given:
        return JOBS_PER_CPU * (os.cpu_count() or 1)
    if not given.isdecimal() or not int(given):
        raise ConfigError(f"{JOBS}={given}: give the number of histories to run at a time, from 1")
    return int(given)


def _save_last_run(path: Path, report: _Report) -> None:
    """Keep the result for the doctor, if the home exists."""
    run = LastRun(
        at=time.time(),
        version=__version__,
        histories=report.histories,
        violations=report.violations,
    )
    with suppress(OSError):
        last_run.save_last_run(path, run)


@dataclass(frozen=True, kw_only=True)
class _Size:
    """The histories to run: only ``single``, a ``quick`` sample, or every boundary and more."""

    single: Plan | None
    quick: bool
    pairs: int
    random: int

    async def make_plans(self, bench: Bench, seed: int, *, server: bool) -> list[Plan]:
        if self.single is not None:
            return [self.single]
        counted = await campaign.count_boundaries(bench)
        if self.quick:
            return campaign.plan_quick_histories(counted, seed, server=server)
        return campaign.plan_histories(counted, self.pairs, self.random, seed, server=server)


async def _run_histories(
    report: _Report, size: _Size, make: Callable[[StartDaemon, Journals], Bench], store: str | None
) -> None:
    spare = DATABASE if store else ()
    with open_journals(store) as journals, ForkServer(modules=spare) as server:
        bench = make(server.start, journals)
        plans = await size.make_plans(bench, report.seed, server=store is not None)
        report.tallies = campaign.make_tallies(plans)
        with make_progress_bar() as progress:
            bar = progress.add_task(f"seed {report.seed}", total=len(plans))

            def record_result(plan: Plan, result: Result) -> None:
                progress.advance(bar)
                report.tallies[plan.phase].add(result)
                if result.violations:
                    report.failures.append((f"--history '{plan}'", result))

            await campaign.run_plans(bench, plans, record_result)


def _show_report(report: _Report) -> None:
    print_table(
        "Crash self-test", COLUMNS, (_build_tally_row(tally) for tally in report.tallies.values())
    )
    for option, result in report.failures:
        typer.echo(f"{option}  {result.home if result.home.exists() else ''}")
        for violation in result.violations:
            print_text(f"  {violation.check}: {violation.sentence}")
    for number, reason in ELSEWHERE.items():
        typer.echo(f"invariant {number} is not checked here: {reason}")
    typer.echo(
        f"invariant 21: {report.recoveries} kills hit a recovery; the others were checked after it"
    )
    typer.echo(f"{len(CHECKS)} checks, seed {report.seed}, {report.seconds:.0f} s")
    typer.echo(f"{report.histories} histories, {report.violations} violations")


def _build_tally_row(tally: Tally) -> tuple[object, ...]:
    promises = [tally.count_violations(name) for name in PROMISES]
    return (
        tally.phase,
        tally.histories,
        tally.boundary_count,
        tally.verified,
        len(tally.unreached),
        *promises,
        tally.strays,
        tally.unknown,
        tally.count_violations() - sum(promises),
        round(tally.seconds),
    )


def _build_json_report(report: _Report) -> dict[str, object]:
    return {
        "seed": report.seed,
        "seconds": round(report.seconds, 1),
        "histories": report.histories,
        "violations": report.violations,
        "phases": [
            dict(zip(COLUMNS, _build_tally_row(tally), strict=True))
            for tally in report.tallies.values()
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
