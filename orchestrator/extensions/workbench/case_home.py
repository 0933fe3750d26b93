"""Rebuild the requests of cases, and run a daemon on a journal that holds nothing else."""

import os
import shutil
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, closing, suppress
from pathlib import Path
from subprocess import DEVNULL
from tempfile import TemporaryDirectory

import anyio
import orjson
from anyio.abc import Process

from orchestrator.agentsfile.positions import parse_json_document
from orchestrator.cli.client import connect_to_daemon
from orchestrator.cli.config_examination import load_library
from orchestrator.cli.options import load_agents, load_environment
from orchestrator.control.protocol import STATUS, StatusReport
from orchestrator.errors import NotRunningError
from orchestrator.extensions.workbench.cases import TurnCase, fill_case_journal, store_digests
from orchestrator.extensions.workbench.dry_replay import DryReplay, DryTurn
from orchestrator.extensions.workbench.recorded_turns import RecordedTurn, load_recorded_turn
from orchestrator.extensions.workbench.trial_worker import TrialHome, WorkerMeans, keep_worker
from orchestrator.files import write_private
from orchestrator.journal.db.sqlite_storage import open_database
from orchestrator.settings import Settings
from thinker.protocol import logs

PARTS = ("prompts", "skills", "personas", "keys.env")
# Fields of agents.json that reach beyond the models of its agents.
LEFT_OUT = ("channels", "bindings", "fallbackAgentId", "mcpServers", "extensions", "tests")
VARIABLES = ("ORCHESTRATOR_HOME", "ORCHESTRATOR_CONFIG", "ORCHESTRATOR_STORE")
SECONDS = 60.0  # until a daemon is ready, or has ended
LOOK = 0.1  # seconds between two looks whether it is


async def rebuild_turns(settings: Settings, turns: Sequence[RecordedTurn]) -> list[DryTurn]:
    """Build the requests of turns again with the files of a home; no model is called."""
    agents = load_agents(settings)
    home = TrialHome(
        settings=settings,
        environ=load_environment(settings),
        agents=agents,
        prompts=load_library(settings, agents),
    )
    with TemporaryDirectory(prefix="orchestrator-cases-") as folder:
        async with keep_worker(WorkerMeans(folder=Path(folder))) as kept:
            replay = DryReplay(home, kept)
            return [await replay.rebuild_turn(turn) for turn in turns]


async def seal_cases(
    settings: Settings, cases: Sequence[TurnCase]
) -> tuple[list[TurnCase], Mapping[str, str]]:
    """Return the cases with the digests of their requests, and why others cannot be cases."""
    with TemporaryDirectory(prefix="orchestrator-cases-") as folder:
        turns = write_case_journal(Path(folder) / "journal.db", cases)
    found = await rebuild_turns(settings, turns)
    sealed, lost = [], {}
    for case, turn in zip(cases, found, strict=True):
        if turn.impossible:
            lost[case.turn] = turn.impossible
        else:
            sealed.append(store_digests(case, turn))
    return sealed, lost


def write_case_journal(path: Path, cases: Sequence[TurnCase]) -> list[RecordedTurn]:
    """Write a journal of cases alone; return its turns, in their order."""
    logs.configure_logging("error")  # a command tells what it did by itself
    with closing(open_database(path)) as db:
        db.execute("BEGIN")
        fill_case_journal(db, cases)
        db.execute("COMMIT")
        return [load_recorded_turn(db, case.turn) for case in cases]


@asynccontextmanager
async def run_case_daemon(settings: Settings, cases: Sequence[TurnCase]) -> AsyncIterator[Settings]:
    """Run a daemon with a home's agents, prompts and keys on a journal of cases.

    Raises:
        NotRunningError: it does not start.
    """
    with TemporaryDirectory(prefix="orchestrator-cases-") as folder:
        own = Path(folder)
        write_private(own / "agents.json", _strip_agents_file(settings))
        for name in PARTS:
            _copy_part(settings.home / name, own / name)
        write_case_journal(own / "journal.db", cases)
        environ = {name: value for name, value in os.environ.items() if name not in VARIABLES}
        environ |= {"ORCHESTRATOR_HOME": str(own), "ORCHESTRATOR_LOG_LEVEL": "error"}
        command = (sys.executable, "-P", "-m", "orchestrator", "run")
        process = await anyio.open_process(
            command, env=environ, cwd=own, stdin=DEVNULL, stdout=DEVNULL, stderr=None
        )
        try:
            found = Settings.read_environ(environ)
            await _wait_until_ready(found, process)
            yield found
        finally:
            with anyio.CancelScope(shield=True):
                await _end_process(process)


def _strip_agents_file(settings: Settings) -> bytes:
    """Return agents.json without what listens, talks to people or starts other programs."""
    value = parse_json_document(settings.find_agents_file().read_text("utf-8")).value
    kept = value if isinstance(value, dict) else {}
    return orjson.dumps({name: one for name, one in kept.items() if name not in LEFT_OUT})


def _copy_part(source: Path, target: Path) -> None:
    if source.is_dir():
        shutil.copytree(source, target, dirs_exist_ok=True)
    elif source.is_file():
        write_private(target, source.read_bytes())


async def _wait_until_ready(settings: Settings, process: Process) -> None:
    with anyio.move_on_after(SECONDS):
        while process.returncode is None:
            with suppress(NotRunningError):
                async with connect_to_daemon(settings) as peer:
                    status = await peer.call(STATUS, None, StatusReport, timeout=SECONDS)
                if status.ready:
                    return
            await anyio.sleep(LOOK)
    raise NotRunningError(
        "the daemon for the cases did not start; look for the reason with: orchestrator check"
    )


async def _end_process(process: Process) -> None:
    if process.returncode is None:
        process.terminate()
    with anyio.move_on_after(SECONDS):
        await process.wait()
        return
    process.kill()
    await process.wait()
