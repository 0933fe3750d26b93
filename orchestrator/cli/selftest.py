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
from orchestrator.cli._long_command import end_by_sigterm, progress_bar
from orchestrator.cli._options import AsJson, command_group, load_settings
from orchestrator.cli._prose import say
from orchestrator.cli._tables import table
from orchestrator.cli.attacks import attacks
from orchestrator.cli.simulate import simulate
from orchestrator.errors import ConfigError, ExitCode
from orchestrator.selftest import campaign, last_run
from orchestrator.selftest.campaign import Bench, Plan, Tally
from orchestrator.selftest.daemon_process import DATABASE, SPAWN, ForkServer, StartDaemon
from orchestrator.selftest.invariants import CHECKS, ELSEWHERE
from orchestrator.selftest.journals import Journals, journals_at
from orchestrator.selftest.last_run import LastRun
from orchestrator.selftest.runner import Result
from orchestrator.selftest.scratch_place import memory_folder
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
app = command_group("selftest")
app.command()(attacks)
app.command()(simulate)


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
        bool, typer.Option("--quick", help="Run a sample that takes one minute.")
    ] = False,
    random_histories: Annotated[
        int, typer.Option("--random", min=0, help="Random histories of two to five kills.")
    ] = RANDOM,
    pairs: Annotated[
        int, typer.Option(min=0, help="Histories in which the restart is killed, too.")
    ] = PAIRS,
    seed: Annotated[int | None, typer.Option(help="Repeat the histories of this seed.")] = None,
    history: Annotated[
        str | None,
        typer.Option(
            help="Run only this, such as supervisor@plan:before#2;worker@300ms, or with --nodes a"
            " fault and its messages, such as kill#500."
        ),
    ] = None,
    nodes: Annotated[
        int | None, typer.Option(min=2, help="Let so many daemons share a journal in PostgreSQL.")
    ] = None,
    keep: Annotated[bool, typer.Option("--keep", help="Keep the homes of failures.")] = False,
    as_json: AsJson = False,
) -> None:
    """Kill the real daemon and its workers, among fakes on loopback, and check the effects.

    Kills happen at every boundary of the journal and of the outside world, at pairs of them and at
    random; with --nodes, machines, network and server fail. Ctrl-C prints the results so far.
    """
    logs.configure("error")  # only errors belong beside the report
    if nodes is not None:
        from orchestrator.cli._node_trials import try_nodes  # noqa: PLC0415 - needs PostgreSQL

        if seed is not None or (random_histories, pairs) != (RANDOM, PAIRS):
            raise ConfigError(
                "--random, --pairs and --seed have no effect with --nodes; leave them out"
            )
        try_nodes(nodes, history, quick=quick, keep=keep, as_json=as_json)
    report = _Report(random.randrange(2**32) if seed is None else seed)  # noqa: S311 - no secret
    single = None if history is None else campaign.plan_of(history)
    started = time.monotonic()
    jobs = _jobs(os.environ.get(JOBS))
    homes = Path(tempfile.mkdtemp(prefix="selftest-", dir=memory_folder()))
    environ = {name: os.environ[name] for name in (SPAWN,) if name in os.environ}
    size = _Size(single=single, quick=quick, pairs=pairs, random=random_histories)
    end_by_sigterm()
    try:
        make = partial(Bench, homes, jobs, environ=environ, keep=keep)
        anyio.run(_run, report, size, make, os.environ.get(STORE))
    except KeyboardInterrupt:
        typer.echo("interrupted; results so far:", err=True)
    else:
        if single is None:
            _keep(load_settings(None).paths.last_selftest, report)
    finally:
        if not (keep and any(homes.iterdir())):
            shutil.rmtree(homes)
    report.seconds = time.monotonic() - started
    if as_json:
        typer.echo(json.dumps(_as_json(report), indent=2))
    else:
        _show(report)
    raise typer.Exit(ExitCode.FAILED if report.violations else ExitCode.OK)


def _jobs(given: str | None) -> int:
    """Return how many histories to run at a time.

    Raises:
        ConfigError: the setting is not such a number.
    """
    if not given:
        return JOBS_PER_CPU * (os.cpu_count() or 1)
    if not given.isdecimal() or not int(given):
        raise ConfigError(f"{JOBS}={given}: give the number of histories to run at a time, from 1")
    return int(given)


def _keep(path: Path, report: _Report) -> None:
    """Keep the result for the doctor, in a home that is there."""
    run = LastRun(
        at=time.time(),
        version=__version__,
        histories=report.histories,
        violations=report.violations,
    )
    with suppress(OSError):
        last_run.keep(path, run)


@dataclass(frozen=True, kw_only=True)
class _Size:
    """What to run: only ``single``, a ``quick`` sample, or every boundary and so many others."""

    single: Plan | None
    quick: bool
    pairs: int
    random: int

    async def plans(self, bench: Bench, seed: int, *, server: bool) -> list[Plan]:
        if self.single is not None:
            return [self.single]
        counted = await campaign.count_all(bench)
        if self.quick:
            return campaign.quick_plans(counted, seed, server=server)
        return campaign.plans(counted, self.pairs, self.random, seed, server=server)


async def _run(
    report: _Report, size: _Size, make: Callable[[StartDaemon, Journals], Bench], store: str | None
) -> None:
    spare = DATABASE if store else ()
    with journals_at(store) as journals, ForkServer(modules=spare) as server:
        bench = make(server.start, journals)
        plans = await size.plans(bench, report.seed, server=store is not None)
        report.tallies = campaign.tallies(plans)
        with progress_bar() as progress:
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
            say(f"  {violation.check}: {violation.sentence}")
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
