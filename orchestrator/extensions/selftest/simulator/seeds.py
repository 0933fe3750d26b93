"""Run many seeds in several processes."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio
from anyio.abc import ByteReceiveStream
from anyio.streams.buffered import BufferedByteReceiveStream

MAX_LINE_BYTES = 1024 * 1024
ONE_DAEMON = "orchestrator.extensions.selftest.simulator"
SEVERAL_NODES = "orchestrator.extensions.selftest.lives"


@dataclass(frozen=True)
class SeedReport:
    """The result of one seed: the events of its course, shrunk if there are violations.

    ``trace`` is equal for equal histories. ``events`` is None for a course of several nodes,
    of which none can be left out; what happened is in ``scripts``.
    """

    seed: int
    trace: str
    events: dict[str, str] | None
    scripts: list[str]
    violations: list[str]

    @property
    def repeat_options(self) -> str:
        """The options that repeat the course."""
        if self.events is None:
            return f"--nodes --seed {self.seed} --seeds 1"
        if not self.events:  # no event is needed for what it shows
            return f"--seed {self.seed} --seeds 1"
        return f"--seed {self.seed} --only {','.join(self.events)}"


async def run_seeds(
    seeds: range,
    jobs: int,
    only: Iterable[int] | None,
    place: Path | None,
    record: Callable[[SeedReport], None],
    module: str = ONE_DAEMON,
) -> None:
    """Run seeds with ``jobs`` processes; ``record`` gets each seed's report as it arrives.

    ``module`` runs them: of one daemon, or of several lives.

    The files are in a folder of ``place``; None is the system's folder for temporary files.
    """
    events = () if only is None else (",".join(map(str, only)),)
    with TemporaryDirectory(prefix="simulate-", dir=place, ignore_cleanup_errors=True) as folder:
        async with anyio.create_task_group() as tasks:
            for job in range(jobs):
                numbers = (str(seeds.start + job), str(seeds.stop), str(jobs))
                tasks.start_soon(_run_process, (module, *numbers, *events), folder, record)


async def _run_process(
    arguments: tuple[str, ...], folder: str, record: Callable[[SeedReport], None]
) -> None:
    command = (sys.executable, "-P", "-m", *arguments)
    environ = {**os.environ, "PYTHONHASHSEED": "0", "TMPDIR": folder}
    process = await anyio.open_process(command, env=environ, stdin=subprocess.DEVNULL, stderr=None)
    async with process:
        await _read_reports(process.stdout, record)
        if await process.wait() != 0:
            raise RuntimeError(f"a process of the simulation ended with {process.returncode}")


async def _read_reports(
    output: ByteReceiveStream | None, record: Callable[[SeedReport], None]
) -> None:
    if output is None:
        return
    lines = BufferedByteReceiveStream(output)
    while True:
        try:
            line = await lines.receive_until(b"\n", MAX_LINE_BYTES)
        except anyio.IncompleteRead:
            return
        record(SeedReport(**json.loads(line)))
