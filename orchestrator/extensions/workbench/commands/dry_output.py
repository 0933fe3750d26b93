"""Compare a turn's requests with what this program would send, without a daemon or a model."""

from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio
import typer

from orchestrator.cli.config_examination import load_library
from orchestrator.cli.direct_journal import load_moved_chats
from orchestrator.cli.options import load_agents, load_environment
from orchestrator.cli.output import print_text
from orchestrator.cli.tables import Columns, print_json, print_records
from orchestrator.control.camel_model import CamelModel
from orchestrator.control.trials import TrialChange
from orchestrator.errors import ExitCode
from orchestrator.extensions.workbench.dry_replay import DryReplay, DryRequest, DryTurn
from orchestrator.extensions.workbench.recorded_parts import RecordedPart
from orchestrator.extensions.workbench.recorded_turns import (
    RecordedTurn,
    find_turn_id,
    load_recorded_turn,
)
from orchestrator.extensions.workbench.todays_memory import load_todays_memory
from orchestrator.extensions.workbench.trial_changes import (
    NOTHING_NEW,
    TodaysSources,
    apply_change,
    list_renewed_layers,
)
from orchestrator.extensions.workbench.trial_worker import TrialHome, WorkerMeans, keep_worker
from orchestrator.extensions.workbench.tried_home import read_tried_home
from orchestrator.journal.opening import open_for_reading, open_trial_state
from orchestrator.settings import Settings
from thinker.protocol.methods import TurnRun

WORDS = {True: "exact", False: "differs", None: "unknown"}


class DryStep(CamelModel):
    """One request in ``replay --dry --json``."""

    model: str
    size: int
    digest: str
    exact: bool | None
    differs: str
    layers: tuple[str, ...]


class DryReport(CamelModel):
    """The output of ``replay --dry --json``; ``impossible`` says why there are no requests."""

    turn: str
    requests: tuple[DryStep, ...]
    impossible: str


def replay_dry(settings: Settings, name: str, change: TrialChange, *, as_json: bool) -> None:
    """Print for each request of a turn its bytes, its digest and what differs from the record."""
    with open_for_reading(settings.journal) as db:
        turn = load_recorded_turn(db, find_turn_id(db, name))
    found = anyio.run(_rebuild, settings, turn, change)
    report = DryReport(
        turn=found.turn_id,
        requests=tuple(DryStep.from_object(one) for one in found.requests),
        impossible=found.impossible,
    )
    print_json(report) if as_json else _print_turn(found)
    if found.obstacle and not change.changes_anything:
        raise typer.Exit(ExitCode.FAILED)


def _print_turn(found: DryTurn) -> None:
    if found.impossible:
        print_text(f"the turn cannot be replayed: {found.impossible}")
        return
    columns: Columns = {
        "model": "model",
        "bytes": "size",
        "digest": "digest",
        "as recorded": _describe_exact,
        "what differs": "differs",
    }
    print_records(f"{found.exact} of {len(found.requests)} exact", found.requests, columns)


def _describe_exact(request: DryRequest) -> str:
    return WORDS[request.exact]


async def _rebuild(settings: Settings, turn: RecordedTurn, change: TrialChange) -> DryTurn:
    with TemporaryDirectory(prefix="orchestrator-trial-") as folder:
        home = _read_home(settings, change, Path(folder))
        build = partial(_apply_change, settings, home, turn, change)
        means = WorkerMeans(folder=Path(folder), files=change.files)
        async with keep_worker(means) as kept:
            replay = DryReplay(home, kept, change.model or "")
            return await replay.rebuild_turn(turn, build if change.changes_anything else None)


def _read_home(settings: Settings, change: TrialChange, folder: Path) -> TrialHome:
    agents = load_agents(settings)
    prompts, environ = load_library(settings, agents), load_environment(settings)
    now = TrialHome(settings=settings, environ=environ, agents=agents, prompts=prompts)
    return read_tried_home(now, change.files, folder, load_moved_chats(settings))


def _apply_change(
    settings: Settings,
    home: TrialHome,
    turn: RecordedTurn,
    change: TrialChange,
    run: TurnRun,
    part: RecordedPart,
) -> TurnRun:
    """Return a run with the change, with what is made anew as it is without a daemon."""
    today = NOTHING_NEW
    if list_renewed_layers(change, part):
        with open_trial_state(settings.journal) as db:
            memory = load_todays_memory(db, home.agents, turn, part)
        definition = home.agents.find_agent(part.agent_id)
        bundle = None if definition is None else home.prompts.find_bundle(definition)
        made = bundle.dump_json() if bundle else None
        today = TodaysSources(memory=memory, definition=made)
    return apply_change(run, change, part, today)
