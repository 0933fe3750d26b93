"""Limit the rate of calls with token buckets.

Where: is the rate of messages to a chat limited?
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

CROWD = 1000  # chats, or more, before those whose buckets are full are forgotten
IDLE = 120.0  # seconds after which a chat's bucket is full again whatever its rate


@dataclass(frozen=True)
class Rate:
    """A rate of ``burst`` calls at once, then ``per_second``."""

    per_second: float
    burst: int


@dataclass(frozen=True)
class Bucket:
    """A bucket with ``tokens`` left at the time ``at``, in seconds.

    A negative number means that later calls were admitted in advance.
    """

    tokens: float
    at: float


def take_token(rate: Rate, bucket: Bucket | None, now: float) -> tuple[Bucket, float]:
    """Take a token for a call; return the new bucket and the seconds to wait."""
    left = float(rate.burst)
    if bucket is not None:
        passed = max(0.0, now - bucket.at)  # the clock may have been set back
        left = min(left, bucket.tokens + passed * rate.per_second)
    left -= 1
    return Bucket(left, now), max(0.0, -left / rate.per_second)


@dataclass
class RateLimiter:
    """Delays calls to keep within the rates of each chat and of the whole ``bot``.

    A bot's rate is divided by the number of ``nodes`` that send by it; a chat has one of them.
    """

    bot: Rate
    clock: Callable[[], float]
    sleep: Callable[[float], Awaitable[object]]
    nodes: Callable[[], int] = lambda: 1
    _bot: Bucket | None = field(default=None, init=False)
    _chats: dict[str, Bucket] = field(default_factory=dict, init=False)
    _crowd: int = field(default=CROWD, init=False)

    async def wait(self, chat_id: str, rate: Rate) -> None:
        """Wait until a call is admitted at a chat's rate; it may then be made at any time."""
        now, nodes = self.clock(), self.nodes()
        share = Rate(self.bot.per_second / nodes, max(1, self.bot.burst // nodes))
        self._bot, bot_wait = take_token(share, self._bot, now)
        self._chats[chat_id], chat_wait = take_token(rate, self._chats.get(chat_id), now)
        if len(self._chats) >= self._crowd:
            self._chats = {
                chat: bucket for chat, bucket in self._chats.items() if now - bucket.at < IDLE
            }
            self._crowd = max(CROWD, 2 * len(self._chats))
        delay = max(bot_wait, chat_wait)
        if delay:
            await self.sleep(delay)
