"""Limit how many workers live and start at a time: first come, first served.

When all places are taken, the worker that has been idle longest ends, never one in use. A subagent
does not wait: the agent that waits for it may hold the last place.

Where: is the number of live workers limited?
"""

import os
from collections.abc import AsyncIterator, Callable, Hashable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, TypeVar

import anyio

from orchestrator.loop_bound import LoopBound

W = TypeVar("W", bound=Hashable)
SHARE = 0.5  # of the memory, for workers
WORKER_BYTES = 8_000_000  # of a worker after a turn; most have 7 MB of their own
LEAST = 8  # workers, however small the memory
STARTS_PER_CORE = 2  # at a time; more would all be late
CGROUPS, OWN_CGROUP = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")


def find_default_limit(cgroups: Path = CGROUPS, own_cgroup: Path = OWN_CGROUP) -> int:
    """Return how many workers fit into their share of this machine's or container's memory.

    ``cgroups`` is the folder of the kernel's control groups, and ``own_cgroup`` tells that of this
    process.
    """
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    with suppress(OSError, ValueError):
        group = cgroups / own_cgroup.read_text("utf-8").strip().rpartition(":")[2].lstrip("/")
        for folder in (group, *group.parents):
            if folder.is_relative_to(cgroups):
                memory = min(memory, _read_memory_limit(folder) or memory)
    return max(LEAST, int(memory * SHARE / WORKER_BYTES))


def _read_memory_limit(group: Path) -> int | None:
    """Return a control group's limit in bytes; None without one."""
    try:
        return int((group / "memory.max").read_text("ascii"))
    except (OSError, ValueError):  # "max"
        return None


def find_default_starts() -> int:
    """Return how many workers may start at a time on this machine."""
    return STARTS_PER_CORE * (os.cpu_count() or 1)


@dataclass
class WorkerPlaces(LoopBound, Generic[W]):
    """The places of live workers; ``limit`` and ``starts`` are the most that live and start.

    ``end`` ends an idle worker. ``W`` is what stands for a worker.
    """

    limit: int = field(default_factory=find_default_limit)
    starts: int = field(default_factory=find_default_starts)
    end: Callable[[W], None] = lambda _: None
    live: int = field(default=0, init=False)
    _waiting: dict[W, anyio.Event] = field(default_factory=dict, init=False)
    _starting: set[W] = field(default_factory=set, init=False)
    _idle: dict[W, None] = field(default_factory=dict, init=False)  # the longest idle first
    _ending: set[W] = field(default_factory=set, init=False)

    @property
    def waiting(self) -> int:
        """How many starts wait for a place or for their turn."""
        return len(self._waiting)

    @asynccontextmanager
    async def hold_place(self, name: W, *, queued: bool = True) -> AsyncIterator[None]:
        """Hold a place while the block lasts, after those who asked before."""
        if queued:
            await self._wait_for_place(name)
        else:
            self.live += 1
        try:
            yield
        finally:
            self.live -= 1
            self._starting.discard(name)
            self._idle.pop(name, None)
            self._ending.discard(name)
            self._grant_places()

    def note_started(self, name: W) -> None:
        """Let the next one start."""
        if name in self._starting:
            self._starting.discard(name)
            self._grant_places()

    def note_idle(self, name: W) -> None:
        """Note that nothing uses a live worker; it may end from now on."""
        self._idle.pop(name, None)
        self._idle[name] = None
        self._end_idle_workers()

    def note_used(self, name: W) -> None:
        self._idle.pop(name, None)

    async def _wait_for_place(self, name: W) -> None:
        granted = self._waiting[name] = anyio.Event()
        self._grant_places()
        try:
            await granted.wait()
        except BaseException:
            if self._waiting.pop(name, None) is None:  # it was granted and is not wanted any more
                self.live -= 1
                self._starting.discard(name)
            self._grant_places()
            raise

    def _grant_places(self) -> None:
        while self._waiting and self.live < self.limit and len(self._starting) < self.starts:
            name = next(iter(self._waiting))
            self._waiting.pop(name).set()
            self._starting.add(name)
            self.live += 1
        self._end_idle_workers()

    def _end_idle_workers(self) -> None:
        """End as many idle workers as are needed for those who wait."""
        free = self.limit - self.live
        while self._idle and len(self._ending) + free < min(len(self._waiting), self.starts):
            name = next(iter(self._idle))
            del self._idle[name]
            self._ending.add(name)
            self.end(name)
