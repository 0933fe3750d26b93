"""Places for workers: first come, first served, and the longest idle worker makes room."""

from collections.abc import Hashable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import anyio
import pytest
from anyio.abc import TaskGroup
from anyio.lowlevel import checkpoint

from orchestrator.processes.worker_places import LEAST, WorkerPlaces, find_default_limit


class Workers:
    """Workers in memory: each holds a place until it is ended."""

    def __init__(self, tasks: TaskGroup, limit: int, starts: int = 100) -> None:
        self.tasks = tasks
        self.places = WorkerPlaces[Hashable](limit, starts, self.end)
        self.started: list[Hashable] = []
        self.ends: dict[Hashable, anyio.Event] = {}

    def end(self, name: Hashable) -> None:
        self.ends[name].set()

    async def start(self, *names: str, queued: bool = True) -> None:
        for name in names:
            self.ends[name] = anyio.Event()
            place = self.places.hold_place(name, queued=queued)
            self.tasks.start_soon(self._live, name, place)
            await settle()

    async def _live(self, name: str, place: AbstractAsyncContextManager[None]) -> None:
        async with place:
            self.started.append(name)
            await self.ends[name].wait()


async def settle() -> None:
    for _ in range(10):
        await checkpoint()


async def test_longest_idle_worker_ends_when_all_places_are_taken() -> None:
    """Not one that is used, and not more than are needed."""
    async with anyio.create_task_group() as tasks:
        workers = Workers(tasks, limit=3)
        await workers.start("a", "b", "c")
        for name in ("b", "a", "c"):
            workers.places.note_idle(name)
        workers.places.note_used("b")
        await workers.start("d")
        assert workers.started == ["a", "b", "c", "d"]
        assert [name for name, ended in workers.ends.items() if ended.is_set()] == ["a"]
        assert (workers.places.live, workers.places.waiting) == (3, 0)
        tasks.cancel_scope.cancel()


async def test_start_waits_until_a_worker_is_idle() -> None:
    """In the order in which they came."""
    async with anyio.create_task_group() as tasks:
        workers = Workers(tasks, limit=1)
        await workers.start("a", "b", "c")
        assert (workers.started, workers.places.waiting) == (["a"], 2)
        workers.places.note_idle("a")
        await settle()
        assert (workers.started, workers.places.waiting) == (["a", "b"], 1)
        workers.places.note_idle("b")
        await settle()
        assert workers.started == ["a", "b", "c"]
        tasks.cancel_scope.cancel()


async def test_few_start_at_a_time() -> None:
    """So that the first are ready before the last begin."""
    async with anyio.create_task_group() as tasks:
        workers = Workers(tasks, limit=9, starts=2)
        await workers.start("a", "b", "c", "d")
        assert workers.started == ["a", "b"]
        workers.places.note_started("b")
        workers.places.note_started("b")
        await settle()
        assert workers.started == ["a", "b", "c"]
        workers.end("a")
        await settle()
        assert workers.started == ["a", "b", "c", "d"]
        tasks.cancel_scope.cancel()


async def test_subagent_does_not_wait_for_a_place() -> None:
    """All places may be held by agents that wait for subagents; later the number shrinks again."""
    async with anyio.create_task_group() as tasks:
        workers = Workers(tasks, limit=1)
        await workers.start("a")
        await workers.start("child", queued=False)
        assert workers.started == ["a", "child"]
        workers.places.note_idle("child")
        await settle()
        assert workers.places.live == 1
        tasks.cancel_scope.cancel()


@pytest.mark.parametrize("granted", [False, True])
async def test_start_that_is_given_up_leaves_no_trace(*, granted: bool) -> None:
    """Also if its place was granted in the same moment."""
    async with anyio.create_task_group() as tasks:
        workers = Workers(tasks, limit=1)
        await workers.start("a")
        async with anyio.create_task_group() as others:
            workers.tasks = others
            await workers.start("b")
            if granted:
                workers.end("a")
                await checkpoint()
            others.cancel_scope.cancel()
        await settle()
        assert (workers.places.live, workers.places.waiting) == (0 if granted else 1, 0)
        tasks.cancel_scope.cancel()


def test_default_limit_follows_the_memory_of_the_container(tmp_path: Path) -> None:
    """The least limit of its control groups counts, on whatever machine it is."""
    own, group = tmp_path / "own", tmp_path / "groups" / "system" / "daemon"
    group.mkdir(parents=True)
    own.write_text("0::/system/daemon\n", "utf-8")
    without = find_default_limit(tmp_path / "groups", own)
    (group / "memory.max").write_text("max\n", "utf-8")
    assert find_default_limit(tmp_path / "groups", own) == without
    (group.parent / "memory.max").write_text("800000000\n", "utf-8")
    assert find_default_limit(tmp_path / "groups", own) == 50
    (group.parent / "memory.max").write_text("1000\n", "utf-8")
    assert find_default_limit(tmp_path / "groups", own) == LEAST
