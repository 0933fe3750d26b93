"""How far the messages of Discord are stored, which is the cursor of its channel. Pure.

Ids of Discord begin with the time at which they were made, so one id says how far all chats are
stored, but for servers whose history is still to be read. Private chats are kept by id: Discord
does not list them for a bot.
"""

from pydantic import BaseModel, Field

PRIVATE = 0  # the place of private chats; other places are the ids of servers
MAX_PRIVATE = 200  # private chats whose history is read after a pause, the last used ones
EPOCH = 1_420_070_400_000  # milliseconds since that of Unix; Discord's first
LATE = 10_000  # milliseconds by which a message may come after one with a greater id


def id_at(time: float) -> int:
    """Return the smallest id of a time, in milliseconds since the epoch."""
    return max(0, int(time) - EPOCH) << 22


class DiscordProgress(BaseModel):
    """All up to the id ``after`` is stored, but in places that are ``behind`` only to their own."""

    after: int
    private: list[int] = Field(default_factory=list)
    behind: dict[int, int] = Field(default_factory=dict)

    @property
    def start(self) -> int:
        """Where a history is read from: a little before what is stored."""
        return max(0, self.after - (LATE << 22))

    def begin(self, servers: list[int]) -> None:
        """Start a session: what came before may have been missed, everywhere."""
        places = [PRIVATE, *servers]
        self.behind = {place: self.behind.get(place, self.start) for place in places}

    def lose(self, server: int) -> None:
        """Note that a server is out of reach."""
        self.behind.setdefault(server, self.start)

    def stored(self, message: int) -> None:
        """All messages up to this one are stored, in every place that is not behind."""
        self.after = max(self.after, message)

    def meet(self, chat: int) -> bool:
        """Keep a private chat, to read its history after a pause; return whether it was kept."""
        known = chat in self.private
        self.private = [*(other for other in self.private if other != chat), chat][-MAX_PRIVATE:]
        return known
