"""``orchestrator sets``: turns that are kept as tests."""

import re
from pathlib import Path
from typing import Annotated

import anyio
import typer

from orchestrator.cli.commands import make_command_group
from orchestrator.cli.direct_journal import change_journal
from orchestrator.cli.options import AsJson, Home, load_settings
from orchestrator.cli.output import format_count, format_moment, make_printable, print_text
from orchestrator.cli.tables import Columns, print_json, print_listing
from orchestrator.control.trials import SET_NAME, SETS_ADD, SETS_REMOVE, SavedSets, SavedTurn
from orchestrator.extensions.workbench import saved_turns
from orchestrator.extensions.workbench.case_home import rebuild_turns, seal_cases
from orchestrator.extensions.workbench.cases import (
    SETS_EXPORT,
    CaseError,
    SetExport,
    build_cases,
    compute_digest,
    list_secrets,
    record_export,
    write_cases,
)
from orchestrator.extensions.workbench.recorded_turns import load_recorded_turn
from orchestrator.extensions.workbench.turn_checks import FORMS, CheckError, parse_checks
from orchestrator.journal.db.database import Database
from orchestrator.journal.opening import open_for_reading
from orchestrator.settings import Settings
from thinker.protocol.names import format_turn_name

BY = "operator"
NAME_FORM = "use small letters, digits, - and _, at most 64, and begin with a letter or digit"
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
    saved = _build_saved_turn(set_name, turn, lines)
    _change_set(load_settings(home), SETS_ADD, saved)
    typer.echo(f"kept in the set {set_name}, with {format_count(len(lines.splitlines()), 'check')}")


@app.command("rm")
def remove(set_name: SetName, turn: TurnName, *, home: Home = None) -> None:
    """Take a turn out of a set; the turn itself stays until its time is over."""
    saved = _build_saved_turn(set_name, turn)
    _change_set(load_settings(home), SETS_REMOVE, saved)
    typer.echo(f"taken out of the set {set_name}")


@app.command()
def export(
    set_name: SetName,
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Where the files go.")],
    *,
    home: Home = None,
) -> None:
    """Write a set as files that `orchestrator prompt test --cases DIR` runs without this journal.

    Chats and people get other names, and a set that seems to hold a secret is refused. The files
    hold what people and tools wrote, and pictures; what is forgotten here later stays in them.
    """
    settings = load_settings(home)
    with open_for_reading(settings.journal) as db:
        tests = saved_turns.list_owned_tests(db, set_name)
        turns = [load_recorded_turn(db, test.saved.turn) for test in tests]
        cases = build_cases(db, tests)
    secrets = list_secrets(cases)
    if secrets:
        listed = "\n".join(secrets)
        raise CaseError(f"nothing was written, since these may be secrets:\n{listed}")
    lost = {one.turn_id: one.obstacle for one in anyio.run(rebuild_turns, settings, turns)}
    usable = [case for case in cases if not lost[case.turn]]
    sealed, unbuilt = anyio.run(seal_cases, settings, usable)
    write_cases(folder, sealed)
    exported = SetExport(set_name=set_name, turns=len(sealed), digest=compute_digest(sealed))
    change_journal(settings, SETS_EXPORT, exported, record_export, exported)
    print_text(f"{format_count(len(sealed), 'case')} in {folder}")
    for turn, reason in {**lost, **unbuilt}.items():
        if reason:
            print_text(f"left out: turn {format_turn_name(turn)}, {reason}")


def _load_turns(settings: Settings, set_name: str) -> SavedSets:
    with open_for_reading(settings.journal) as db:
        return saved_turns.list_saved_turns(db, set_name)


def _build_saved_turn(set_name: str, turn: str, checks: str = "same calls") -> SavedTurn:
    if not re.fullmatch(SET_NAME, set_name):
        raise typer.BadParameter(f"{set_name!r} is no name; {NAME_FORM}", param_hint="SET")
    return SavedTurn(set_name=set_name, turn=turn, checks=checks)


def _change_set(settings: Settings, method: str, saved: SavedTurn) -> None:
    change = saved_turns.add_saved_turn if method == SETS_ADD else saved_turns.remove_saved_turn

    def apply(db: Database, subject: SavedTurn, now: int) -> None:
        change(db, subject, BY, now)

    change_journal(settings, method, saved, apply, saved)
