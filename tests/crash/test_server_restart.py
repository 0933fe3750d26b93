"""The journal's server itself crashes and is started again, under daemons that are killed too."""

from pathlib import Path

import anyio
import pytest
from anyio import to_thread
from fakes.postgresql import needs_programs
from fakes.time_limit import LIMIT

from orchestrator.extensions.postgresql.pg_scratch import ScratchDatabases
from orchestrator.extensions.selftest.crash import process_tree
from orchestrator.extensions.selftest.crash.daemon_process import DATABASE, ForkServer
from orchestrator.extensions.selftest.crash.histories import parse_history
from orchestrator.extensions.selftest.crash.runner import Runner, read_boundaries
from orchestrator.extensions.selftest.crash.scenario import STANDARD
from orchestrator.extensions.selftest.nodes.postgres_server import ServerProcess, run_server

pytestmark = [
    pytest.mark.process,
    pytest.mark.long,
    needs_programs,
    pytest.mark.thorough(part="nodes"),
]


async def crash_at(server: ServerProcess, home: Path, places: str) -> None:
    """Crash a server soon after each of these boundaries, as ``2/ready#1`` in the second life."""
    for text in places.split():
        life, _, place = text.partition("/")
        log = home / f"boundaries-{life}"

        def missing(log: Path = log, place: str = place) -> list[int]:
            return [] if any(item.place == place for item in read_boundaries(log)) else [0]

        assert not await process_tree.poll_until_empty(missing, LIMIT), text
        await to_thread.run_sync(server.crash)
        await to_thread.run_sync(server.start)


@pytest.mark.parametrize(
    ("history", "crashes"),
    [
        ("", "1/ready#1 1/reply:after#1"),
        ("supervisor@reply:after#2", "1/run_turn:before#1 2/ready#1"),
        ("worker@run_turn:before#2", "1/plan:before#1 1/reply:before#1"),
    ],
)
async def test_crash_of_the_server_loses_nothing(
    history: str, crashes: str, tmp_path: Path
) -> None:
    """Each message is answered once, and each effect happens once."""
    home, lives = tmp_path / "home", parse_history(history) if history else ()
    with (
        run_server() as server,
        ScratchDatabases(server.url) as databases,
        ForkServer(modules=DATABASE) as forks,
    ):
        runner = Runner(lives, STANDARD, home, {}, start=forks.start, journals=databases)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(crash_at, server, home, crashes)
            result = await runner.run()
    assert result.violations == []
    assert result.unreached == []
