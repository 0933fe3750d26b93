"""A platform is never written to faster than it allows."""

from functools import partial

from hypothesis import given
from hypothesis import strategies as st

from orchestrator.channels.pacing import Bucket, Rate, RateLimiter, take_token

CHAT, GROUP, BOT = Rate(1.0, 4), Rate(20 / 60, 4), Rate(30.0, 30)


class Time:
    """A clock that only sleeping moves."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.slept: list[float] = []

    def __call__(self) -> float:
        """Seconds."""
        return self.now

    async def sleep(self, seconds: float) -> None:
        """Move on."""
        self.slept.append(seconds)
        self.now += seconds


async def test_a_chat_may_have_a_short_burst_then_one_call_a_second() -> None:
    """Four calls at once, then each waits its second."""
    time = Time()
    pacer = RateLimiter(BOT, time, time.sleep)
    for _ in range(CHAT.burst + 3):
        await pacer.wait("1", CHAT)
    assert time.slept == [1.0, 1.0, 1.0]


async def test_a_group_gets_twenty_calls_a_minute() -> None:
    """After the burst a call comes every three seconds."""
    time = Time()
    pacer = RateLimiter(BOT, time, time.sleep)
    for _ in range(GROUP.burst + 2):
        await pacer.wait("-1", GROUP)
    assert [round(slept, 6) for slept in time.slept] == [3.0, 3.0]


async def test_many_chats_share_the_rate_of_the_bot() -> None:
    """Each chat is within its own rate, and the bot slows them all together."""
    time = Time()
    pacer = RateLimiter(BOT, time, time.sleep)
    for chat in range(BOT.burst + 30):
        await pacer.wait(str(chat), CHAT)
    assert round(time.now - 1000.0, 6) == 1.0


async def test_nodes_divide_the_rate_of_the_bot() -> None:
    """What all of them send is within it; the rate of a chat, which has one node, is whole."""
    for nodes in (1, 3):
        time = Time()
        pacer = RateLimiter(BOT, time, time.sleep, partial(int, nodes))
        for chat in range(BOT.burst // nodes + 30):
            await pacer.wait(str(chat), CHAT)
        assert round(time.now - 1000.0, 6) == nodes
        time.slept.clear()
        time.now += 60
        for _ in range(CHAT.burst + 2):
            await pacer.wait("1", CHAT)
        assert time.slept == [1.0, 1.0]


@given(
    rate=st.builds(Rate, st.floats(0.1, 50), st.integers(1, 40)),
    gaps=st.lists(st.floats(0, 5), max_size=60),
)
def test_no_window_ever_holds_more_than_the_rate_allows(rate: Rate, gaps: list[float]) -> None:
    """Calls that wait as told never exceed burst plus rate in any span of time."""
    bucket: Bucket | None = None
    now, times = 0.0, []
    for gap in gaps:
        now += gap
        bucket, delay = take_token(rate, bucket, now)
        times.append(now + delay)
    times.sort()
    for i, start in enumerate(times):
        for j in range(i, len(times)):
            allowed = rate.burst + (times[j] - start) * rate.per_second
            assert j - i + 1 <= allowed + 1e-6
