"""Which chats, and which bots, a platform wants nothing sent to for now (``retry_after``).

The Bot API does not say whether it refuses a call for the sake of the chat or of the bot. A refusal
holds its chat; one in a second chat while the first is held means the bot, and holds all chats.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

BOT = ""  # in place of a chat's id: all chats
APART = frozenset({"hook"})  # channels whose chats are servers that know nothing of each other


class Hold(NamedTuple):
    """A chat of a channel to which nothing is sent for ``seconds``; all its chats if it is BOT."""

    channel: str
    chat_id: str
    seconds: float


@dataclass
class FloodControl:
    """The holds of all channels. Every ``now`` is in seconds, of one clock."""

    _until: dict[tuple[str, str], float] = field(default_factory=dict, init=False)

    def refused(self, channel: str, chat_id: str, retry_after: float, now: float) -> Hold:
        """Hold a chat whose call was refused, or its bot; return what is held now."""
        holds = self.holds(now)
        others = channel not in APART and any(
            hold.channel == channel and hold.chat_id != chat_id for hold in holds
        )
        key = (channel, BOT if others else chat_id)
        self._until[key] = max(now + retry_after, self._until.get(key, now))
        return Hold(*key, self._until[key] - now)

    def left(self, channel: str, chat_id: str, now: float) -> float:
        """Return the seconds for which nothing may be sent to a chat; 0 if it is not held."""
        if not self._until:
            return 0.0
        ends = (self._until.get((channel, held), now) for held in (BOT, chat_id))
        return max(0.0, *(end - now for end in ends))

    def holds(self, now: float) -> tuple[Hold, ...]:
        """Return the holds that are not over."""
        self._until = {key: end for key, end in self._until.items() if end > now}
        return tuple(Hold(*key, end - now) for key, end in sorted(self._until.items()))
