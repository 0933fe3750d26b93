"""``orchestrator prompt test``: run recorded turns as tests, in a terminal or in CI."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import anyio
import typer

from orchestrator.cli.client import send_order
from orchestrator.cli.commands import make_command_group
from orchestrator.cli.options import AsJson, Home, load_agents, load_settings
from orchestrator.cli.output import make_printable, print_text
from orchestrator.cli.tables import print_json
from orchestrator.control.trials import MAX_TIMES, MAX_TURNS, TrialChange
from orchestrator.errors import ExitCode, UnknownNameError
from orchestrator.extensions.workbench.case_home import run_case_daemon
from orchestrator.extensions.workbench.cases import CaseError, TurnCase, load_cases
from orchestrator.extensions.workbench.changed_files import read_changed_files
from orchestrator.extensions.workbench.commands.option_groups import spread_options
from orchestrator.extensions.workbench.edit_changes import find_gate
from orchestrator.extensions.workbench.gates import GATES_TRIED, GateTried
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
        str, typer.Argument(metavar="NAME", help="An agent or a prompt (default: all).")
    ] = ""
    set_name: Annotated[
        str, typer.Option("--set", help="The set (default: that of the agent's gate).")
    ] = ""
    last: Annotated[
        int,
        typer.Option(
            help="Instead of a set: so many turns.", show_default=False, min=0, max=MAX_TURNS
        ),
    ] = 0
    change: Annotated[
        list[str] | None,
        typer.Option(metavar="FILE", help="A changed text, or NAME=FILE; repeatable."),
    ] = None
    times: Annotated[int, typer.Option(help="Runs of each turn.", min=1, max=MAX_TIMES)] = 1
    needed: Annotated[
        int,
        typer.Option("--pass", help="Green runs needed (default: all).", show_default=False, min=0),
    ] = 0
    limit: Annotated[float, typer.Option(metavar="USD", help="At most, for all runs.", min=0.0)] = (
        DOLLARS
    )
    confirm: Annotated[str, typer.Option(help="A new provider that may judge answers.")] = ""
    junit: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a report as JUnit XML.")
    ] = None
    cases: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Run exported cases."),
    ] = None


def run_tests(chosen: TestedTurns, *, as_json: AsJson = False, home: Home = None) -> None:
    """Run recorded turns again without effects, and check what they do.

    Exits with 0 if all are green, 1 if one is red, 3 if one could not be tried (no daemon, budget
    or provider), 2 after a wrong option. Cases are run by a daemon of their own.
    """
    settings = load_settings(home)
    if chosen.needed > chosen.times:
        problem = f"{chosen.times} runs cannot be green {chosen.needed} times"
        raise typer.BadParameter(problem, param_hint="--pass")
    cases = _read_cases(chosen)
    title, tests = _find_tests(settings, chosen, cases)
    run = SetRun(
        name=title,
        tests=tests,
        change=_read_change(settings, chosen.change or ()),
        times=chosen.times,
        needed=chosen.needed or chosen.times,
        limit_usd=chosen.limit or None,
        confirmed=chosen.confirm,
    )
    report = anyio.run(_run_tests, settings, run, cases)
    if report.is_green and not (chosen.change or cases or chosen.last):
        _confirm_gate(settings, chosen.name, report)
    if chosen.junit is not None:
        chosen.junit.write_text(format_junit(report), "utf-8")
    if as_json:
        print_json(report)
    else:
        _print_report(report)
    raise typer.Exit(_choose_exit_code(report))


app.command("test")(spread_options(run_tests))


def _read_change(settings: Settings, files: Sequence[str]) -> TrialChange:
    try:
        return TrialChange(files=read_changed_files(settings, files))
    except UnknownNameError as error:
        raise typer.BadParameter(str(error), param_hint="--change") from error


def _read_cases(asked: TestedTurns) -> list[TurnCase]:
    if asked.cases is None:
        return []
    try:
        return load_cases(asked.cases)
    except CaseError as error:
        raise typer.BadParameter(str(error), param_hint="--cases") from error


def _find_tests(
    settings: Settings, asked: TestedTurns, cases: Sequence[TurnCase]
) -> tuple[str, tuple[OwnedTest, ...]]:
    """Return the turns to try and what they are called together."""
    name, set_name = asked.name, asked.set_name
    if asked.last and (set_name or cases or not name):
        raise typer.BadParameter("goes with a NAME alone", param_hint="--last")
    if cases:
        return set_name or "cases", _select_cases(cases, asked)
    if not (asked.last or set_name):
        set_name = _find_gate_set(settings, name)
    with open_for_reading(settings.journal) as db:
        if asked.last:
            return f"last {asked.last} of {name}", list_last_tests(db, name, asked.last)
        try:
            return set_name, list_owned_tests(db, set_name, name)
        except UnknownNameError as error:
            raise typer.BadParameter(str(error), param_hint="--set") from error


def _select_cases(cases: Sequence[TurnCase], asked: TestedTurns) -> tuple[OwnedTest, ...]:
    return tuple(
        case.owned_test
        for case in cases
        if asked.set_name in ("", case.set_name) and asked.name in ("", case.agent_id)
    )


async def _run_tests(settings: Settings, run: SetRun, cases: Sequence[TurnCase]) -> SetReport:
    if not cases:
        return await run_set(settings, run)
    async with run_case_daemon(settings, cases) as own:
        return await run_set(own, run)


def _find_gate_set(settings: Settings, name: str) -> str:
    agent = load_agents(settings).find_agent(name)
    gate = None if agent is None else find_gate(agent)
    if gate is None:
        unknown = f"no agent is called '{name}'; " if name and agent is None else ""
        raise typer.BadParameter(
            f"{unknown}name a set or --last N: only an agent with a gate has a set of its own",
            param_hint="--set",
        )
    return gate.set


def _confirm_gate(settings: Settings, agent_id: str, report: SetReport) -> None:
    """Tell the daemon that what is in force passes an agent's gate, if that was tried."""
    agent = load_agents(settings).find_agent(agent_id)
    gate = None if agent is None else find_gate(agent)
    if gate is not None and gate.set == report.name and len(report.trials) == 1:
        tried = GateTried(agent_id=agent_id, trial=report.trials[0])
        send_order(settings, GATES_TRIED, tried)


def _print_report(report: SetReport) -> None:
    for one in report.outcomes:
        question = " ".join(one.question.split())
        line = f"{SIGNS[one.outcome]} turn {format_turn_name(one.turn)} {question}"
        print_text(make_printable(line))
        for reason in (*one.why.splitlines(), *one.opinions):
            print_text(f"    {make_printable(reason)}")
    trials = ", ".join(f"trial {number}" for number in report.trials)
    print_text(f"{report.name}: {report.summary} · ${report.usd:.4f} · {trials or 'not begun'}")
    if report.problem:
        print_text(make_printable(report.problem), err=True)


def _choose_exit_code(report: SetReport) -> int:
    if report.list_outcomes("red"):
        return ExitCode.FAILED
    return ExitCode.OK if report.is_green else UNTRIED
