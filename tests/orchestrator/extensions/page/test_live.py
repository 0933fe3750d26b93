"""The events of open windows."""

from collections.abc import AsyncGenerator
from pathlib import Path

import anyio
from fakes.page import page_bench
from fakes.time_limit import time_limit

from orchestrator.extensions.page.live import LiveFeed, LiveWindow
from orchestrator.extensions.page.redraws import RedrawMark

RETRY = b"retry: 1000\n\n"


class Shown:
    """A window whose mark a test sets; a redraw costs what it says."""

    def __init__(self, seen: str = "") -> None:
        self.mark, self.wait = RedrawMark("s1", "w1"), 0.0
        self.feed = LiveFeed(lambda: 1)
        self.asked = list[bool]()
        window = LiveWindow("ann", "", seen, read_mark=self._read_mark, find_wait=self._find_wait)
        self.events: AsyncGenerator[bytes] = self.feed.stream_events(window)
        self.got = list[bytes]()

    async def _read_mark(self) -> RedrawMark:
        return self.mark

    def _find_wait(self, soon: bool) -> float:  # noqa: FBT001 - as in `LiveWindow`
        self.asked.append(soon)
        return self.wait

    async def collect(self) -> None:
        async for event in self.events:
            self.got.append(event)

    def change(self, soon: str, whole: str) -> None:
        self.mark = RedrawMark(soon, whole)
        self.feed.record_change()


async def test_window_is_told_when_what_it_shows_has_changed() -> None:
    """And not when something else has."""
    shown = Shown(seen="w1")
    with time_limit():
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(shown.collect)
            await anyio.wait_all_tasks_blocked()
            assert shown.got == [RETRY]
            shown.feed.record_change()
            while len(shown.got) < 2:
                shown.change("s1", "w2")
                await anyio.wait_all_tasks_blocked()
            tasks.cancel_scope.cancel()
    assert shown.got == [RETRY, b'event: changed\ndata: "w2"\n\n']
    assert shown.asked == [False]


async def test_window_that_has_seen_nothing_is_told_at_once() -> None:
    """As one whose page is older than the change."""
    shown = Shown()
    assert await anext(shown.events) == RETRY
    assert await anext(shown.events) == b'event: changed\ndata: "w1"\n\n'
    assert shown.asked == [True]
    await shown.events.aclose()


async def test_window_that_costs_much_is_told_later() -> None:
    """The change is not lost; what is to be seen at once is asked for as such."""
    shown = Shown(seen="w1")
    shown.wait = 1000.0
    with time_limit():
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(shown.collect)
            await anyio.wait_all_tasks_blocked()
            while not shown.asked:
                shown.change("s1", "w2")
                await anyio.wait_all_tasks_blocked()
            assert shown.got == [RETRY]
            shown.wait = 0.0
            while len(shown.got) < 2:
                shown.change("s2", "w3")
                await anyio.wait_all_tasks_blocked()
            tasks.cancel_scope.cancel()
    assert shown.asked[0] is False
    assert shown.asked[-1] is True
    assert shown.got[-1] == b'event: changed\ndata: "w3"\n\n'


async def test_fifth_stream_of_a_session_ends_its_oldest(tmp_path: Path) -> None:
    """A browser has six connections: streams must not take them all."""
    async with page_bench(tmp_path) as bench:
        streams = [bench.app.feed.stream_events(LiveWindow("ann")) for _ in range(5)]
        for stream in streams:
            assert await anext(stream) == b"retry: 1000\n\n"
        assert (await anext(streams[0])).startswith(b"event: full")
        assert (await anext(streams[1])).startswith(b"event: changed")
        for stream in streams:
            await stream.aclose()
        assert bench.app.feed.open_streams == 0


async def test_more_streams_than_sixty_four_are_refused(tmp_path: Path) -> None:
    """With the seconds to wait."""
    async with page_bench(tmp_path) as bench:
        person = await bench.login()
        streams = [bench.app.feed.stream_events(LiveWindow(str(n))) for n in range(64)]
        for stream in streams:
            assert await anext(stream) == b"retry: 1000\n\n"
        refused = await person.get("/events")
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "10")
        for stream in streams:
            await stream.aclose()
        assert bench.app.feed.open_streams == 0
