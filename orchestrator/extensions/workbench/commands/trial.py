"""``orchestrator trial``: list, show, stop and go on with trials."""

from typing import Annotated

import typer

from orchestrator.cli.client import ask_daemon
from orchestrator.cli.commands import make_command_group
from orchestrator.cli.options import AsJson, Home, RowNumber, load_settings
from orchestrator.cli.output import format_minute
from orchestrator.cli.tables import Columns, print_json, print_listing
from orchestrator.control import trials
from orchestrator.control.trials import (
    TrialContinuation,
    TrialNumber,
    TrialReport,
    TrialReports,
)
from orchestrator.extensions.workbench.commands.trial_output import print_report
from thinker.protocol.peer import Params

app = make_command_group("trial")


@app.command("list")
def list_trials(*, as_json: AsJson = False, home: Home = None) -> None:
    """List the trials, newest first."""
    found = ask_daemon(load_settings(home), trials.TRIAL_LIST, None, TrialReports)
    columns: Columns = {
        "id": "id",
        "began (UTC)": lambda one: format_minute(one.at / 1000),
        "kind": "kind",
        "agent": "agent_id",
        "state": "state",
        "missing": lambda one: one.waiting or None,
        "cost": lambda one: f"${one.usd:.4f}",
        "tokens": "tokens",
        "note": "note",
    }
    empty = "there are no trials; begin one with: orchestrator replay TURN"
    print_listing("Trials", found.trials, columns, key="trials", empty=empty, as_json=as_json)


@app.command()
def show(number: RowNumber, *, as_json: AsJson = False, home: Home = None) -> None:
    """Show a trial with its turns."""
    _ask_and_print(home, trials.TRIAL_SHOW, TrialNumber(id=number), as_json=as_json)


@app.command()
def stop(number: RowNumber, *, as_json: AsJson = False, home: Home = None) -> None:
    """Stop a trial; the runs that have ended are kept."""
    _ask_and_print(home, trials.TRIAL_STOP, TrialNumber(id=number), as_json=as_json)


@app.command("go-on")
def go_on(
    number: RowNumber,
    *,
    result: Annotated[
        list[str] | None,
        typer.Option(help="KEY=TEXT: what answers the call with this key; can be repeated."),
    ] = None,
    as_json: AsJson = False,
    home: Home = None,
) -> None:
    """Go on with a stopped trial: make the runs that are missing."""
    pairs = [entry.partition("=") for entry in result or ()]
    wrong = next((key for key, sign, _ in pairs if not sign), None)
    if wrong is not None:
        raise typer.BadParameter(f"{wrong!r} has no =; write KEY=TEXT", param_hint="--result")
    typed = {key: text for key, _, text in pairs}
    asked = TrialContinuation(id=number, typed=typed)
    _ask_and_print(home, trials.TRIAL_GO_ON, asked, as_json=as_json)


def _ask_and_print(home: Home, method: str, params: Params, *, as_json: bool) -> None:
    report = ask_daemon(load_settings(home), method, params, TrialReport)
    if as_json:
        print_json(report)
    else:
        print_report(report)
