"""``orchestrator selftest crash --nodes``: several daemons on one journal in PostgreSQL."""

import json
import shutil
import statistics
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import anyio
import typer
from rich.progress import Progress, TaskID

from orchestrator.cli.output import print_text
from orchestrator.cli.tables import print_table
from orchestrator.errors import ConfigError, ExitCode
from orchestrator.extensions.selftest.commands.long_command import (
    interrupt_on_sigterm,
    make_progress_bar,
)
from orchestrator.extensions.selftest.crash.scratch_place import find_memory_folder
from orchestrator.extensions.selftest.nodes.cluster import build_clock_environ
from orchestrator.extensions.selftest.nodes.node_faults import ALL_WORK, FAULTS
from orchestrator.extensions.selftest.nodes.node_trial import NodeTrial, TrialResult
from orchestrator.journal.opening import find_engine
from orchestrator.journal_address import SCHEMES, DatabaseServer
from thinker.protocol import logs

QUICK = ("freeze", "restart", "all-kill", "all-retake")
QUICK_MESSAGES, QUICK_SLEEP = 60, 6.0
MESSAGES, SLEEP = 2000, 60.0  # of each fault; the seconds that a frozen machine sleeps
BAR = 0.25  # seconds that people may wait longer for agents of nodes that no fault befell
# Columns of violations, with the prefixes of their checks' names.
PROMISES = {
    "lost": ("lost", "settled"),
    "twice": ("duplicate",),
    "out of order": ("order", "places"),
    "effects repeated": ("double effect", "re-run"),
    "unmarked": ("unknown not told",),
    "guard hits": ("guard",),
}


def choose_faults(history: str | None, *, all_work: bool, quick: bool) -> Sequence[str]:
    """Return the faults to try: the one that ``history`` names, some that are quick, or all.

    With ``all_work`` they are of nodes that all work, and the beginning of their names may be left
    out.

    Raises:
        ConfigError: there is no such fault, or what it needs is missing.
    """
    find_engine(DatabaseServer(SCHEMES[0], Path()))  # raises without one
    known = [name for name in FAULTS if name.startswith(ALL_WORK if all_work else "")]
    if history is None:
        chosen = [name for name in known if name in QUICK or not quick]
    else:
        chosen = [name for name in known if name in (history, f"{ALL_WORK * all_work}{history}")]
    if not chosen:
        raise ConfigError(f"--history: {history!r} is not a fault of nodes; use {', '.join(known)}")
    for name in chosen:
        build_clock_environ(name, 0)  # report what is missing before anything runs
    return chosen


class TrialSize(NamedTuple):
    """The number of nodes and of messages; the seconds that a frozen machine sleeps."""

    nodes: int
    messages: int
    sleep: float


def choose_size(nodes: int, messages: int | None, sleep: float | None, *, quick: bool) -> TrialSize:
    """Return the size of a trial, with the usual numbers in place of those that are None."""
    usual = (QUICK_MESSAGES, QUICK_SLEEP) if quick else (MESSAGES, SLEEP)
    return TrialSize(nodes, messages or usual[0], sleep or usual[1])


def try_nodes(faults: Sequence[str], size: TrialSize, *, keep: bool, as_json: bool) -> None:
    """Try each fault and show the results; exit with 1 if anything was violated.

    Raises:
        ConfigError: PostgreSQL is missing.
    """
    logs.configure_logging("error")  # only errors may interrupt the report
    folder = Path(tempfile.mkdtemp(prefix="nodes-", dir=find_memory_folder()))
    results: list[TrialResult] = []
    interrupt_on_sigterm()
    try:
        anyio.run(_try_faults, results, folder, size, faults)
    except KeyboardInterrupt:
        typer.echo("interrupted; results so far:", err=True)
    finally:
        broken = any(result.violations for result in results)
        if not (keep and broken):
            shutil.rmtree(folder, ignore_errors=True)
    if as_json:
        typer.echo(json.dumps([_build_json_result(result) for result in results], indent=2))
    else:
        _show_results(results, folder if keep and broken else None)
    raise typer.Exit(ExitCode.FAILED if broken else ExitCode.OK)


async def _try_faults(
    results: list[TrialResult], folder: Path, size: TrialSize, faults: Sequence[str]
) -> None:
    with make_progress_bar() as progress:
        for fault in faults:
            bar = progress.add_task(fault, total=size.messages)
            trial = NodeTrial(folder / fault, *size)
            results.append(await trial.run(fault, partial(_advance_bar, progress, bar)))


def _advance_bar(progress: Progress, bar: TaskID, said: int) -> None:
    progress.update(bar, completed=said)


def _show_results(results: Sequence[TrialResult], folder: Path | None) -> None:
    print_table(
        "Nodes on one journal",
        (
            *("fault", "times", "messages", *PROMISES, "unknown, reported", "other violations"),
            *("works after (median, 19 in 20)", "answers after (median, longest)"),
            *("others waited longer (median)", "seconds"),
        ),
        (_build_result_row(result) for result in results),
    )
    for result in results:
        for violation in result.violations:
            print_text(f"{result.fault}  {violation.check}: {violation.sentence}")
    if folder is not None:
        typer.echo(f"the homes are in {folder}")


def _build_result_row(result: TrialResult) -> tuple[object, ...]:
    promises = [result.count_violations(*checks) for checks in PROMISES.values()]
    return (
        result.fault,
        len(result.takeovers),
        result.messages,
        *promises,
        result.unknown,
        len(result.violations) - sum(promises),
        _format_seconds(result.takeovers, 19 / 20),
        _format_seconds(result.answers, 1.0),
        _format_longer(result.waits.longer),
        round(result.seconds),
    )


def _format_seconds(found: Sequence[float], share: float) -> str:
    """Return the median, and the value that ``share`` of the numbers does not exceed."""
    if not found:
        return "none"
    return f"{statistics.median(found):.1f} s, {_compute_quantile(found, share):.1f} s"


def _format_longer(found: Sequence[float]) -> str:
    """Return how much longer people waited who wrote to agents of other nodes."""
    if not found:
        return "none waited"
    return f"{statistics.median(found):+.2f} s of {len(found)} (bar: {BAR} s)"


def _compute_quantile(found: Sequence[float], share: float) -> float:
    """Return the smallest number that ``share`` of the numbers does not exceed."""
    return sorted(found)[max(0, -int(-len(found) * share // 1) - 1)]


def _build_quantiles(found: Sequence[float]) -> list[float]:
    """Return the number of waits, and their median and 95th percentile in seconds."""
    if not found:
        return [0]
    return [len(found), *(round(_compute_quantile(found, share), 2) for share in (1 / 2, 19 / 20))]


def _build_json_result(result: TrialResult) -> dict[str, object]:
    return {
        "fault": result.fault,
        "messages": result.messages,
        **{name: result.count_violations(*checks) for name, checks in PROMISES.items()},
        "unknown": result.unknown,
        "violations": [f"{found.check}: {found.sentence}" for found in result.violations],
        "takeovers": [round(seconds, 2) for seconds in result.takeovers],
        "answers": [round(seconds, 2) for seconds in result.answers],
        "shares": result.shares,
        "calm": _build_quantiles(result.waits.calm),
        "aside": _build_quantiles(result.waits.aside),
        "longer": _build_quantiles(result.waits.longer),
        "seconds": round(result.seconds, 1),
    }
