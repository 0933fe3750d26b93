"""``orchestrator selftest simulate``."""

import json
import os
import random
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated

import anyio
import typer

from orchestrator.cli.options import AsJson
from orchestrator.cli.output import print_text
from orchestrator.errors import ConfigError, ExitCode
from orchestrator.extensions.selftest.commands.long_command import (
    interrupt_on_sigterm,
    make_progress_bar,
)
from orchestrator.extensions.selftest.crash.scratch_place import find_memory_folder
from orchestrator.extensions.selftest.simulator.seeds import (
    ONE_DAEMON,
    SEVERAL_NODES,
    SeedReport,
    run_seeds,
)
from orchestrator.journal.opening import find_engine
from orchestrator.journal_address import SCHEMES, DatabaseServer

SEEDS = 10_000
RANGE = 2**32  # of the first seed


@dataclass
class _Results:
    first: int
    ran: int = 0
    failures: list[SeedReport] = field(default_factory=list)
    shown: SeedReport | None = None  # the report of the only seed


def simulate(
    *,
    seeds: Annotated[int, typer.Option(min=1, help="How many seeds to run.")] = SEEDS,
    seed: Annotated[
        int | None, typer.Option(min=0, help="The first seed (default: a random one).")
    ] = None,
    only: Annotated[
        str | None,
        typer.Option(help="Run one seed with only these events, such as 0,3,4; needs --seed."),
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Processes (default: one for each CPU).")
    ] = None,
    nodes: Annotated[
        bool, typer.Option("--nodes", help="Simulate three nodes that share a journal instead.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Run the daemon's own parts on a virtual clock through histories made from seeds.

    People, the platform, workers, tools, the disk, their faults and the daemon's deaths are
    simulated. A history that breaks a promise is shrunk to the events that it needs, and shown
    with the options that repeat it.
    """
    first = random.randrange(RANGE) if seed is None else seed  # noqa: S311 - no secret
    if nodes and only is not None:
        raise ConfigError("--only has no effect with --nodes; leave it out")
    if nodes:
        find_engine(DatabaseServer(SCHEMES[0], Path()))  # raises without one
    events = None if only is None else _parse_numbers(only, seed)
    results, began = _Results(first), time.monotonic()
    chosen = range(first, first + (seeds if events is None else 1))
    interrupt_on_sigterm()
    try:
        module = SEVERAL_NODES if nodes else ONE_DAEMON
        anyio.run(_run_seeds, results, chosen, jobs or os.cpu_count() or 1, events, module)
    except KeyboardInterrupt:
        typer.echo("interrupted; results so far:", err=True)
    _show_results(results, time.monotonic() - began, as_json=as_json)
    raise typer.Exit(ExitCode.FAILED if results.failures else ExitCode.OK)


def _parse_numbers(only: str, seed: int | None) -> tuple[int, ...]:
    """Return the numbers of the events; raise `ConfigError` if they cannot be read."""
    try:
        found = tuple(int(number) for number in only.split(",") if number)
    except ValueError:
        raise ConfigError(f"--only: {only!r} is not a list of numbers; write 0,3,4") from None
    if seed is None:
        raise ConfigError("--only needs --seed: events belong to one seed")
    return found


async def _run_seeds(
    results: _Results, seeds: range, jobs: int, events: Sequence[int] | None, module: str
) -> None:
    with make_progress_bar() as progress:
        bar = progress.add_task(f"from seed {seeds.start}", total=len(seeds))

        def record_report(report: SeedReport) -> None:
            progress.advance(bar)
            results.ran += 1
            results.shown = report if len(seeds) == 1 else None
            if report.violations:
                results.failures.append(report)

        place = find_memory_folder()
        await run_seeds(seeds, min(jobs, len(seeds)), events, place, record_report, module)


def _show_results(results: _Results, seconds: float, *, as_json: bool) -> None:
    if as_json:
        failures = [{"repeat": f.repeat_options, **asdict(f)} for f in results.failures]
        summary = {"first": results.first, "seeds": results.ran, "seconds": round(seconds, 1)}
        typer.echo(json.dumps({**summary, "failures": failures}, indent=2))
        return
    shown: list[SeedReport | None] = [*results.failures] or [results.shown]
    for report in filter(None, shown):
        typer.echo(report.repeat_options)
        for line in (*(report.events or {}).values(), *report.scripts, *report.violations):
            print_text(f"  {line}")
    failed = len(results.failures)
    last = results.first + results.ran - 1
    typer.echo(f"seeds {results.first} to {last}, {failed} with violations, {seconds:.0f} s")
