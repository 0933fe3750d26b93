"""Remember which chats, or whole bots, a platform has asked to pause (``retry_after``).

The Bot API does not say whether the chat or the bot has sent too much. A refusal holds its chat; a
second chat refused meanwhile means the bot, and holds all its chats.

Where: is a chat paused after Telegram's 429?
"""

from dataclasses import dataclass, field
from typing import NamedTuple

BOT = ""  # in place of a chat's id: all chats
APART = frozenset({"hook"})  # channels whose chats are servers that know nothing of each other


class Hold(NamedTuple):
    """A chat that gets nothing for ``seconds``; all chats of the channel if it is `BOT`."""

    channel: str
    chat_id: str
    seconds: float


@dataclass
class FloodControl:
    """The holds of all channels, with the time ``until`` which each lasts.

    Every ``now`` is in seconds, of one clock.
    """

    until: dict[tuple[str, str], float] = field(default_factory=dict, init=False)

    def hold_chat(self, channel: str, chat_id: str, retry_after: float, now: float) -> Hold:
        """Hold a refused chat, or its whole bot; return the new hold."""
        holds = self.list_holds(now)
        others = channel not in APART and any(
            hold.channel == channel and hold.chat_id != chat_id for hold in holds
        )
        key = (channel, BOT if others else chat_id)
        self.until[key] = max(now + retry_after, self.until.get(key, now))
        return Hold(*key, self.until[key] - now)

    def find_seconds_left(self, channel: str, chat_id: str, now: float) -> float:
        """Return the seconds until a chat may be sent to; 0 if it is not held."""
        if not self.until:
            return 0.0
        ends = (self.until.get((channel, held), now) for held in (BOT, chat_id))
        return max(0.0, *(end - now for end in ends))

    def list_holds(self, now: float) -> tuple[Hold, ...]:
        """List the holds that have not ended."""
        self.until = {key: end for key, end in self.until.items() if end > now}
        return tuple(Hold(*key, end - now) for key, end in sorted(self.until.items()))
