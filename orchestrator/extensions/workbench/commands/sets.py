"""``orchestrator sets``: turns that are kept as tests."""

from typing import Annotated

import typer

from orchestrator.cli.commands import make_command_group
from orchestrator.cli.direct_journal import change_journal
from orchestrator.cli.options import AsJson, Home, load_settings
from orchestrator.cli.output import format_count, format_moment, make_printable, print_text
from orchestrator.cli.tables import Columns, print_json, print_listing
from orchestrator.control.trials import SETS_ADD, SETS_REMOVE, SavedSets, SavedTurn
from orchestrator.extensions.workbench import saved_turns
from orchestrator.extensions.workbench.checks import FORMS, CheckError, parse_checks
from orchestrator.journal.db.database import Database
from orchestrator.journal.opening import open_for_reading
from orchestrator.settings import Settings
from thinker.protocol.names import format_turn_name

BY = "operator"
CHECKS = f"A check; repeat for more (default: same calls). There are: {' · '.join(FORMS)}"
COLUMNS: Columns = {
    "set": "set_name",
    "turn": lambda saved: format_turn_name(saved.turn),
    "saved (UTC)": lambda saved: format_moment(saved.at),
    "by": "by",
    "question": "question",
}
SetName = Annotated[str, typer.Argument(metavar="SET", help="The name of a set.")]
TurnName = Annotated[
    str, typer.Argument(metavar="TURN", help="A turn's id, or its beginning or end.")
]

app = make_command_group("sets")


@app.command("list")
def list_sets(*, as_json: AsJson = False, home: Home = None) -> None:
    """List all turns that are kept as tests, by set."""
    found = _load_turns(load_settings(home), "")
    print_listing(
        "Sets",
        found.turns,
        COLUMNS,
        key="turns",
        empty="no turn is kept as a test",
        as_json=as_json,
    )


@app.command()
def show(set_name: SetName, *, as_json: AsJson = False, home: Home = None) -> None:
    """Show the turns of a set, with their questions and checks."""
    with open_for_reading(load_settings(home).journal) as db:
        saved = saved_turns.require_saved_set(db, set_name)
    if as_json:
        print_json(SavedSets(turns=saved))
        return
    for one in saved:
        line = f"turn {format_turn_name(one.turn)}, saved by {one.by}: {one.question}"
        print_text(make_printable(" ".join(line.split())))
        for check in parse_checks(one.checks):
            print_text(f"    {make_printable(check.line)}")


@app.command()
def add(
    set_name: SetName,
    turn: TurnName,
    *,
    checks: Annotated[list[str] | None, typer.Option("--check", help=CHECKS)] = None,
    home: Home = None,
) -> None:
    """Keep a turn as a test, or give it other checks.

    The turn, its messages and its pictures stay in the journal as long as it is in a set.
    """
    lines = "\n".join(checks or ("same calls",))
    try:
        parse_checks(lines)
    except CheckError as error:
        raise typer.BadParameter(str(error), param_hint="--check") from error
    saved = SavedTurn.model_validate({"setName": set_name, "turn": turn, "checks": lines})
    _change_set(load_settings(home), SETS_ADD, saved)
    typer.echo(f"kept in the set {set_name}, with {format_count(len(lines.splitlines()), 'check')}")


@app.command("rm")
def remove(set_name: SetName, turn: TurnName, *, home: Home = None) -> None:
    """Take a turn out of a set; the turn itself stays until its time is over."""
    saved = SavedTurn.model_validate({"setName": set_name, "turn": turn})
    _change_set(load_settings(home), SETS_REMOVE, saved)
    typer.echo(f"taken out of the set {set_name}")


def _load_turns(settings: Settings, set_name: str) -> SavedSets:
    with open_for_reading(settings.journal) as db:
        return saved_turns.list_saved_turns(db, set_name)


def _change_set(settings: Settings, method: str, saved: SavedTurn) -> None:
    change = saved_turns.add_saved_turn if method == SETS_ADD else saved_turns.remove_saved_turn

    def apply(db: Database, subject: SavedTurn, now: int) -> None:
        change(db, subject, BY, now)

    change_journal(settings, method, saved, apply, saved)
