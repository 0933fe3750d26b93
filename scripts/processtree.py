"""Start a process, measure memory and CPU of its tree, and end all of it, for the benches."""

import os
import signal
import subprocess
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import anyio
from anyio.abc import Process

from orchestrator.extensions.selftest.crash.process_tree import list_descendants

STOP_WITHIN = 10.0  # seconds from SIGTERM to SIGKILL
GONE = (FileNotFoundError, ProcessLookupError)  # errors of reading an ended process


@asynccontextmanager
async def running(
    command: Sequence[str], env: Mapping[str, str], folder: Path
) -> AsyncIterator[Process]:
    """Run a process in a folder, with its log there; leaving ends it and all its descendants."""
    with (folder / "log").open("w") as log:
        process = await anyio.open_process(
            command,
            env=env,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    try:
        yield process
    finally:
        with anyio.CancelScope(shield=True):
            await stop(process)


async def stop(process: Process) -> None:
    """End a process and its descendants, after `STOP_WITHIN` by SIGKILL."""
    family = []
    for pid in (process.pid, *list_descendants(process.pid)):
        with suppress(ProcessLookupError):
            family.append(os.pidfd_open(pid))
    with suppress(ProcessLookupError):
        process.terminate()
    with anyio.move_on_after(STOP_WITHIN):
        await process.wait()
    for member in family:
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(member, signal.SIGKILL)
        os.close(member)
    await process.aclose()


def memory(pid: int) -> dict[str, float]:
    """Measure a process tree: the sums of resident (Rss) and proportional (Pss) megabytes."""
    sizes = {"Rss": 0, "Pss": 0}
    for member in (pid, *list_descendants(pid)):
        with suppress(*GONE):
            for line in Path(f"/proc/{member}/smaps_rollup").read_text("ascii").splitlines()[1:]:
                name, _, size = line.partition(":")
                if name in sizes:
                    sizes[name] += int(size.split()[0])
    return {name: kilobytes / 1024 for name, kilobytes in sizes.items()}


def cpu_ms(pid: int) -> float:
    """Return the CPU milliseconds that the living processes of a tree have used so far."""
    used = 0
    for member in (pid, *list_descendants(pid)):
        for thread in Path(f"/proc/{member}/task").glob("*/schedstat"):
            with suppress(*GONE):
                used += int(thread.read_text("ascii").split()[0])
    return used / 1e6
