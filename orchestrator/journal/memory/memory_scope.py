"""The part of an agent's memory that a turn may read and change.

Each row of the memory belongs to a scope: a chat as ``channel:chat_id`` (a private chat is a
person, a group shares its memory; for the HTTP API, ``api:`` and its client's user), or `EVERY`.
"""

from typing import NamedTuple

EVERY = ""  # the scope of rows that belong to no chat of their own


class Condition(NamedTuple):
    """A part of a WHERE clause, and its values."""

    sql: str
    values: tuple[str, ...]


class MemoryScope(NamedTuple):
    """The memory of an agent as one chat has it.

    ``joined``: it is stored for all chats of the agent that are joined, and their conversations and
    tasks are visible. Otherwise a chat has its own; with ``shared``, it also has the rows that
    belong to no chat.
    """

    agent_id: str
    chat: str
    joined: bool
    shared: bool

    @classmethod
    def whole(cls, agent_id: str) -> "MemoryScope":
        """Return the memory of an agent whose chats share one."""
        return cls(agent_id, EVERY, joined=True, shared=True)

    @property
    def own(self) -> str:
        """The scope of what is stored from here on."""
        return EVERY if self.joined else self.chat

    @property
    def all_chats(self) -> bool:
        """Whether the rows that belong to no chat are visible."""
        return self.joined or self.shared

    def rows(self, table: str = "") -> Condition:
        """Return the condition for visible conversations and tasks, which each have one chat.

        ``table`` qualifies the columns.
        """
        prefix = f"{table}." if table else ""
        if self.joined:
            return Condition(f"{prefix}agent_id = ?", (self.agent_id,))
        return self._among(prefix, self.chat)

    def facts(self, table: str = "") -> Condition:
        """Return the condition for visible facts: the chat's, and those of no chat if visible."""
        return self._among(f"{table}." if table else "", self.chat)

    def profiles(self) -> Condition:
        """Return the condition for visible profiles, of which the chat's own counts first."""
        return self._among("", self.own)

    def _among(self, prefix: str, own: str) -> Condition:
        if not self.all_chats or own == EVERY:
            return Condition(f"{prefix}agent_id = ? AND {prefix}scope = ?", (self.agent_id, own))
        sql = f"{prefix}agent_id = ? AND {prefix}scope IN(?, '{EVERY}')"
        return Condition(sql, (self.agent_id, own))
