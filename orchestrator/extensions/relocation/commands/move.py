"""``orchestrator agents move`` and ``moved``: take an agent to another home, and end that."""

from typing import Annotated

import typer

from orchestrator.cli.commands import make_command_group
from orchestrator.cli.options import AsJson, Home, load_settings
from orchestrator.cli.output import format_count, print_text
from orchestrator.cli.tables import print_json
from orchestrator.control.camel_model import CamelModel
from orchestrator.errors import ConfigError, OrchestratorError, UnknownNameError
from orchestrator.extensions.relocation import homes, move_plan
from orchestrator.extensions.relocation.journal_steps import Move
from orchestrator.extensions.relocation.move_plan import MovePlan
from orchestrator.extensions.relocation.relocation import Relocation
from orchestrator.home_paths import format_home_option

AgentName = Annotated[str, typer.Argument(metavar="AGENT", help="The agent's id.")]
app = make_command_group("agents")


class PlanReport(CamelModel):
    """The output of ``agents move --dry-run --json``."""

    agent: str
    source: str
    target: str
    rows: dict[str, int]
    waiting: int
    files: tuple[str, ...]
    file_count: int
    channels: tuple[str, ...]
    refused: tuple[str, ...]
    stays: tuple[str, ...]


@app.command("move")
def move_agent(
    agent: AgentName,
    *,
    to: Annotated[
        str, typer.Option("--to", metavar="HOME", help="A home's folder, or postgresql://…")
    ],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show it.")] = False,
    wait: Annotated[
        float, typer.Option("--wait", min=0, max=3600, help="Seconds for its open turns to rest.")
    ] = 60.0,
    as_json: AsJson = False,
    home: Home = None,
) -> None:
    """Move an agent with all that is its own to another home; other agents go on.

    The daemons of both homes may run. Here the agent is kept, paused, until
    'agents moved' confirms or undoes the move. Run it again after an interruption.
    """
    settings = load_settings(home)
    source = homes.open_source(settings)
    target = homes.open_target(settings, agent, to)
    journey = Relocation(
        source, target, agent, say=_say_nothing if as_json else _say, patience=wait
    )
    known = journey.find_move()
    if known is not None and known.place != target.name:
        raise OrchestratorError(
            f"agent '{agent}' already moves to {known.place}; end that first: orchestrator agents"
            f" moved {agent} --undo, or --confirm"
        )
    plan = move_plan.make_plan(source, target, agent, arriving=known is not None)
    if as_json and (dry_run or plan.refused):
        print_json(_report_plan(plan, source, target, agent))
    elif not as_json:
        _print_plan(plan, target)
    if plan.refused:
        raise ConfigError("\n".join(("nothing was moved:", *plan.refused)))
    if dry_run:
        return
    digests = journey.move(plan)
    if as_json:
        print_json({"rows": {name: one.rows for name, one in digests.items()}, "moved": True})
        return
    _print_next_steps(plan, source, target, agent)


@app.command("moved")
def end_move(
    agent: AgentName,
    *,
    confirm: Annotated[
        bool, typer.Option("--confirm", help="Remove it from agents.json here.")
    ] = False,
    undo: Annotated[bool, typer.Option("--undo", help="Let it work here again.")] = False,
    home: Home = None,
) -> None:
    """End a move of an agent: for good, or as if nothing had happened.

    --confirm sends late messages after it. --undo is refused once the agent has
    worked at its new home.
    """
    settings = load_settings(home)
    source = homes.open_source(settings)
    known = _find_known_move(source, agent)
    if confirm is undo:
        raise ConfigError(f"agent '{agent}': give --confirm, or --undo")
    target = homes.open_target(source.settings, agent, known.place)
    journey = Relocation(source, target, agent, say=_say)
    option = format_home_option(source.name)
    if undo:
        journey.undo()
        print_text(f"agent '{agent}' works here again")
        return
    late = journey.confirm()
    print_text(f"agent '{agent}' is out of agents.json here; it works in {known.place}")
    if late:
        print_text(f"{format_count(late, 'late message')} followed it")
    print_text(f"its data is kept here; delete it with: orchestrator forget agent {agent}{option}")


def _find_known_move(source: homes.Home, agent: str) -> Move:
    """Return the move that a home knows.

    Raises:
        UnknownNameError: it knows none.
        OrchestratorError: the agent came from elsewhere.
    """
    known = Relocation(source, source, agent).find_move()
    if known is None:
        raise UnknownNameError(
            f"agent '{agent}' is not on a move from {source.name}; begin one with: orchestrator"
            f" agents move {agent} --to HOME"
        )
    if known.phase not in ("leaving", "moved"):
        raise OrchestratorError(
            f"agent '{agent}' came here from {known.place}; end its move there: orchestrator agents"
            f" moved {agent} --confirm --home {known.place}"
        )
    return known


def _report_plan(plan: MovePlan, source: homes.Home, target: homes.Home, agent: str) -> PlanReport:
    return PlanReport(
        agent=agent,
        source=source.name,
        target=target.name,
        rows=plan.rows,
        waiting=plan.waiting,
        files=(*plan.files.own, *plan.files.shared),
        file_count=plan.file_count,
        channels=plan.channels,
        refused=plan.refused,
        stays=plan.stays,
    )


def _print_plan(plan: MovePlan, target: homes.Home) -> None:
    """Print what comes along, and what does not."""
    print_text(f"to {target.name}, journal {target.settings.journal}")
    total = sum(plan.rows.values())
    listed = ", ".join(f"{table} {count}" for table, count in plan.rows.items())
    print_text(f"{format_count(total, 'row')}{': ' if listed else ''}{listed}")
    print_text(f"{format_count(plan.waiting, 'waiting message')} among them")
    names = ", ".join((*plan.files.own, *plan.files.shared))
    print_text(f"{format_count(plan.file_count, 'file')}{': ' if names else ''}{names}")
    print_text(f"{format_count(len(plan.agent.bindings), 'binding')} of agents.json")
    for line in plan.stays:
        print_text(f"note: {line}")


def _print_next_steps(plan: MovePlan, source: homes.Home, target: homes.Home, agent: str) -> None:
    here, there = format_home_option(source.name), format_home_option(target.name)
    print_text(f"agent '{agent}' has moved; try it there, then end the move here:")
    for channel in plan.channels:
        names = ", ".join(move_plan.list_secrets(source, channel)) or "the key"
        print_text(f"  take {names} of channel {channel} out of keys.env here")
    print_text(f"  orchestrator agents moved {agent} --confirm{here}")
    for channel in plan.channels:
        print_text(f"  put the key of channel {channel} into {target.settings.paths.keys}")
    print_text(f"or: orchestrator agents moved {agent} --undo{here}")
    if target.find_status() is None:
        print_text(f"no daemon runs there yet; start one with: orchestrator run{there}")


def _say(text: str) -> None:
    print_text(text)


def _say_nothing(text: str) -> None:
    del text
