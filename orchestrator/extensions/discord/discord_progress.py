"""The position up to which Discord's messages are stored: the channel's cursor. Pure.

Discord's ids begin with their creation time, so one id says how far all chats are stored, except
servers whose history is still unread. Private chats are remembered by id: Discord does not list
them for a bot.
"""

from pydantic import BaseModel, Field

PRIVATE = 0  # the place of private chats; other places are the ids of servers
MAX_PRIVATE = 200  # private chats whose history is read after a pause, the last used ones
EPOCH = 1_420_070_400_000  # milliseconds from the Unix epoch to Discord's
LATE = 10_000  # milliseconds by which a message may come after one with a greater id


def build_id_at(time: float) -> int:
    """Return the smallest id of a time, in milliseconds since the epoch."""
    return max(0, int(time) - EPOCH) << 22


class DiscordProgress(BaseModel):
    """Everything up to the id ``after`` is stored, except in places that are ``behind``."""

    after: int
    private: list[int] = Field(default_factory=list)
    behind: dict[int, int] = Field(default_factory=dict)

    @property
    def history_start(self) -> int:
        """The id after which to read a history: a little before the stored position."""
        return max(0, self.after - (LATE << 22))

    def begin_session(self, servers: list[int]) -> None:
        """Start a session; earlier messages may have been missed everywhere."""
        places = [PRIVATE, *servers]
        self.behind = {place: self.behind.get(place, self.history_start) for place in places}

    def mark_server_lost(self, server: int) -> None:
        """Note that a server is out of reach."""
        self.behind.setdefault(server, self.history_start)

    def record_stored(self, message: int) -> None:
        """Record that everything up to this id is stored, except in places that are behind."""
        self.after = max(self.after, message)

    def keep_private_chat(self, chat: int) -> bool:
        """Remember a private chat, to read its history after a pause; return whether it is new."""
        known = chat in self.private
        self.private = [*(other for other in self.private if other != chat), chat][-MAX_PRIVATE:]
        return known
