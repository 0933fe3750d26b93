"""``orchestrator prompt test``: run recorded turns as tests, in a terminal or in CI."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import anyio
import typer

from orchestrator.cli.commands import make_command_group
from orchestrator.cli.options import AsJson, Home, load_agents, load_settings
from orchestrator.cli.output import make_printable, print_text
from orchestrator.cli.tables import print_json
from orchestrator.control.trials import MAX_TIMES, MAX_TURNS, TrialChange
from orchestrator.errors import ExitCode, UnknownNameError
from orchestrator.extensions.workbench.changed_files import read_changed_files
from orchestrator.extensions.workbench.commands.option_fields import take_options
from orchestrator.extensions.workbench.edit_changes import find_gate
from orchestrator.extensions.workbench.junit import format_junit
from orchestrator.extensions.workbench.saved_turns import (
    OwnedTest,
    list_last_tests,
    list_owned_tests,
)
from orchestrator.extensions.workbench.set_runs import SetReport
from orchestrator.extensions.workbench.set_trials import SetRun, run_set
from orchestrator.journal.opening import open_for_reading
from orchestrator.settings import Settings
from thinker.protocol.names import format_turn_name

DOLLARS = 0.5
UNTRIED = ExitCode.NOT_RUNNING  # 3: what no daemon could try, another one may
SIGNS = {"green": "✓", "red": "✕", "open": "?", "impossible": "?"}

app = make_command_group("prompt")


@dataclass(frozen=True, kw_only=True)
class TestedTurns:
    """The options of `prompt test`."""

    name: Annotated[
        str, typer.Argument(metavar="NAME", help="An agent or a prompt definition (default: all).")
    ] = ""
    set_name: Annotated[
        str, typer.Option("--set", help="The set of turns (default: that of the agent's gate).")
    ] = ""
    last: Annotated[
        int, typer.Option(help="Instead of a set: so many last turns.", min=0, max=MAX_TURNS)
    ] = 0
    change: Annotated[
        list[str] | None,
        typer.Option(help="A changed prompt, skill or persona: FILE, or NAME=FILE. Repeatable."),
    ] = None
    times: Annotated[int, typer.Option(help="Runs of each turn.", min=1, max=MAX_TIMES)] = 1
    needed: Annotated[
        int, typer.Option("--pass", help="Runs that must be green (default: all).", min=0)
    ] = 0
    limit: Annotated[
        float, typer.Option(help="Dollars that all runs may cost together.", min=0.0)
    ] = DOLLARS
    junit: Annotated[
        Path | None, typer.Option(help="Write a report as JUnit XML to this file.")
    ] = None
    as_json: AsJson = False
    home: Home = None


def run_tests(asked: TestedTurns) -> None:
    """Run recorded turns again without effects, and check what they do.

    Exits with 0 if all are green, 1 if one is red, 3 if one could not be tried (budget, provider,
    no daemon), and 2 after a wrong option. Needs a daemon, which holds keys and budgets.
    """
    settings = load_settings(asked.home)
    if asked.needed > asked.times:
        problem = f"{asked.times} runs cannot be green {asked.needed} times"
        raise typer.BadParameter(problem, param_hint="--pass")
    title, tests = _find_tests(settings, asked.name, asked.set_name, asked.last)
    run = SetRun(
        name=title,
        tests=tests,
        change=_read_change(settings, asked.change or ()),
        times=asked.times,
        needed=asked.needed or asked.times,
        limit_usd=asked.limit or None,
    )
    report = anyio.run(run_set, settings, run)
    if asked.junit is not None:
        asked.junit.write_text(format_junit(report), "utf-8")
    if asked.as_json:
        print_json(report)
    else:
        _print_report(report)
    raise typer.Exit(_choose_exit_code(report))


app.command("test")(take_options(run_tests, TestedTurns))


def _read_change(settings: Settings, files: Sequence[str]) -> TrialChange:
    try:
        return TrialChange(files=read_changed_files(settings, files))
    except UnknownNameError as error:
        raise typer.BadParameter(str(error), param_hint="--change") from error


def _find_tests(
    settings: Settings, name: str, set_name: str, last: int
) -> tuple[str, tuple[OwnedTest, ...]]:
    """Return the turns to try and what they are called together."""
    if last and (set_name or not name):
        raise typer.BadParameter("goes with a NAME and without --set", param_hint="--last")
    if not (last or set_name):
        set_name = _find_gate_set(settings, name)
    with open_for_reading(settings.journal) as db:
        if last:
            return f"last {last} of {name}", list_last_tests(db, name, last)
        try:
            found = list_owned_tests(db, set_name, name)
        except UnknownNameError as error:
            raise typer.BadParameter(str(error), param_hint="--set") from error
    return set_name, found


def _find_gate_set(settings: Settings, name: str) -> str:
    agent = load_agents(settings).find_agent(name)
    gate = None if agent is None else find_gate(agent)
    if gate is None:
        raise typer.BadParameter(
            "name a set or --last N: only an agent with a gate has a set of its own",
            param_hint="--set",
        )
    return gate.set


def _print_report(report: SetReport) -> None:
    for one in report.outcomes:
        question = " ".join(one.question.split())
        line = f"{SIGNS[one.outcome]} turn {format_turn_name(one.turn)} {question}"
        print_text(make_printable(line))
        for reason in one.why.splitlines():
            print_text(f"    {make_printable(reason)}")
    trials = ", ".join(f"trial {number}" for number in report.trials)
    print_text(f"{report.name}: {report.summary} · ${report.usd:.4f} · {trials or 'not begun'}")
    if report.problem:
        print_text(make_printable(report.problem), err=True)


def _choose_exit_code(report: SetReport) -> int:
    if report.list_outcomes("red"):
        return ExitCode.FAILED
    return ExitCode.OK if report.is_green else UNTRIED
