"""When an open window is redrawn."""

from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from fakes import screens
from fakes.page import NOW, PageBench, page_bench

from orchestrator.extensions.page.redraws import (
    HOUR,
    MAX_WINDOWS,
    SAVED_SECONDS,
    SHARE,
    SHARE_OF_ALL,
    MarkReader,
    RedrawMark,
    RedrawPaces,
)
from orchestrator.extensions.page.screen_request import (
    PageScreen,
    ScreenRequest,
    Stamp,
)
from orchestrator.journal.db import audit


@dataclass
class Watched:
    """Windows on a clock that stands still; a redraw takes seconds of a processor."""

    now: float = 1000.0
    paces: RedrawPaces = field(init=False)

    def __post_init__(self) -> None:
        self.paces = RedrawPaces(lambda: self.now)

    def wait(self, window: str = "a", *, soon: bool = False) -> float:
        return self.paces.find_wait("ann", window, soon=soon)


def test_window_takes_its_share_of_a_processor() -> None:
    """After a redraw the next one waits, and is then due at once."""
    watched = Watched()
    assert watched.wait() <= 0
    watched.paces.charge("ann", "a", 0.2)
    assert watched.wait() == pytest.approx(0.2 / SHARE)
    assert watched.wait("b") == pytest.approx(0.2 / SHARE_OF_ALL)
    watched.now += 0.2 / SHARE
    assert watched.wait() <= 0


def test_change_to_be_seen_at_once_waits_when_much_was_redrawn() -> None:
    """What is saved is for a few redraws, and it comes back."""
    watched = Watched()
    redraws = 0
    while watched.wait(soon=True) <= 0:
        watched.paces.charge("ann", "a", 0.05)
        redraws += 1
    assert redraws == pytest.approx(SAVED_SECONDS * SHARE / 0.05, abs=1.5)
    watched.now += SAVED_SECONDS
    assert watched.wait(soon=True) <= 0


def test_all_windows_together_take_a_share_too() -> None:
    """However many are open."""
    watched = Watched()
    for number in range(40):
        watched.paces.charge("ann", str(number), 0.1)
    assert watched.wait("new") == pytest.approx(40 * 0.1 / SHARE_OF_ALL)


def test_costs_of_closed_windows_are_forgotten() -> None:
    """The oldest first."""
    watched = Watched()
    watched.paces.charge("ann", "a", 100.0)
    for number in range(MAX_WINDOWS):
        watched.wait(str(number))
    assert watched.wait() == pytest.approx(100.0 / SHARE_OF_ALL)


async def _body(_: ScreenRequest) -> str:
    return ""


@dataclass
class Marked:
    """The marks of one screen for an operator."""

    bench: PageBench
    stamp: Stamp | None = None
    outside: int = 0

    async def read(self, at: str = "/here", now: int = NOW, role: str = "operator") -> RedrawMark:
        async def read_stamp(_: ScreenRequest) -> Stamp:
            return self.stamp or Stamp()

        journal = self.bench.app.journal
        reader = MarkReader(journal, journal.read_version, lambda: self.outside)
        screen = PageScreen("/here", "Here", None, _body, "Here", stamp=read_stamp)
        asked = replace(screens.request(role), at=at, now=now)
        return await reader.read_mark(screen, asked)

    async def commit(self) -> None:
        await self.bench.store.transact(audit.record_decision, "a", "b", "c", NOW)


async def test_each_commit_may_change_a_screen_without_a_stamp(tmp_path: Path) -> None:
    """Such a change is not drawn at once."""
    async with page_bench(tmp_path) as bench:
        marked = Marked(bench)
        before = await marked.read()
        assert await marked.read() == before
        await marked.commit()
        after = await marked.read()
        assert after.whole != before.whole
        assert after.soon == before.soon


async def test_commit_of_something_else_changes_no_stamp(tmp_path: Path) -> None:
    """So the screen is not redrawn."""
    async with page_bench(tmp_path) as bench:
        marked = Marked(bench, Stamp(soon=(1, 2), later=3))
        before = await marked.read()
        await marked.commit()
        assert await marked.read() == before
        marked.stamp = Stamp(soon=(1, 2), later=4)
        later = await marked.read()
        assert (later.soon, later.whole == before.whole) == (before.soon, False)
        marked.stamp = Stamp(soon=(1, 3), later=4)
        assert (await marked.read()).soon != before.soon


async def test_mark_is_of_one_address_hour_and_state_of_the_daemon(tmp_path: Path) -> None:
    """Times on a screen get old, and the daemon has states that are not in the journal."""
    async with page_bench(tmp_path) as bench:
        marked = Marked(bench, Stamp(later=None))
        before = await marked.read()
        assert (await marked.read(at="/here?x=1")).whole != before.whole
        assert (await marked.read(now=NOW + HOUR)).whole != before.whole
        marked.outside = 1
        assert (await marked.read()).soon != before.soon
