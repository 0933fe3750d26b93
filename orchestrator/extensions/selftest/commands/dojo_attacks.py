"""``orchestrator selftest attacks --suite agentdojo``."""

import shlex
from typing import NoReturn

import anyio
import typer

from orchestrator.cli.output import print_text
from orchestrator.cli.tables import print_table
from orchestrator.errors import ConfigError, ExitCode
from orchestrator.extensions.selftest.commands.long_command import (
    interrupt_on_sigterm,
    make_progress_bar,
)
from orchestrator.extensions.selftest.dojo import dojo_report
from orchestrator.extensions.selftest.dojo.dojo_runs import (
    SUITES,
    SuiteFigures,
    find_dojo_python,
    list_setup_commands,
    try_suites,
)
from orchestrator.extensions.selftest.dojo.dojo_world import CaseResult

SAMPLE = 20  # pairs of each suite
SEED = 1


def try_agentdojo(*, every: bool, as_json: bool) -> NoReturn:
    """Try AgentDojo's tasks alone, and a sample of its pairs or all; exit with 1 if one was won.

    Raises:
        ConfigError: AgentDojo is not installed.
    """
    python = find_dojo_python()
    if python is None:
        commands = "; ".join(shlex.join(command) for command in list_setup_commands())
        raise ConfigError(f"AgentDojo is not installed; install it with: {commands}")
    trials = (dojo_report.ALONE, dojo_report.make_attacked_trial(None if every else SAMPLE))
    figures: list[SuiteFigures] = []
    interrupt_on_sigterm()

    async def run_trials() -> None:
        with make_progress_bar() as progress:
            bar = progress.add_task("cases", total=None)

            def show_progress(_: CaseResult) -> None:
                progress.advance(bar)

            async for one in try_suites(SUITES, trials, python, SEED, show_progress):
                figures.append(one)
                progress.update(bar, description=f"cases, {one.suite} done")

    try:
        anyio.run(run_trials)
    except KeyboardInterrupt:
        typer.echo("interrupted; results so far:", err=True)
    show_figures(figures, as_json=as_json)
    won = dojo_report.count_won(figures)
    raise typer.Exit(ExitCode.FAILED if won else ExitCode.OK)


def show_figures(figures: list[SuiteFigures], *, as_json: bool) -> None:
    """Print figures as a table with sentences, or as JSON."""
    if as_json:
        typer.echo(dojo_report.build_json(figures))
        return
    print_table("AgentDojo", dojo_report.COLUMNS, dojo_report.build_rows(figures))
    for sentence in dojo_report.list_sentences(figures):
        print_text(sentence)
