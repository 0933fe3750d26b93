"""The part of an agent's memory that a turn may read and change.

Each row of the memory belongs to a scope: a chat as ``channel:chat_id`` (a private chat is a
person, a group shares its memory; for the HTTP API, ``api:`` and its client's user), or `EVERY`.

Where: are queries limited to a chat's own memory?
"""

from collections.abc import Collection
from typing import NamedTuple

EVERY = ""  # the scope of rows that belong to no chat of their own
REPLACED = " OR fact.ended_by LIKE 'fact %'"
FORGOTTEN = "forgotten"  # begins who ended a fact that is shown nowhere


class Condition(NamedTuple):
    """A part of a WHERE clause, and its values."""

    sql: str
    values: tuple[object, ...]


class MemoryScope(NamedTuple):
    """The memory of an agent as one chat sees it.

    ``joined``: the memory is stored for all joined chats of the agent, and their conversations and
    tasks are visible. Otherwise a chat has its own; with ``shared``, it also sees the rows without
    a chat.
    """

    agent_id: str
    chat: str
    joined: bool
    shared: bool

    @classmethod
    def for_whole_agent(cls, agent_id: str) -> "MemoryScope":
        """Return the memory of an agent whose chats share one."""
        return cls(agent_id, EVERY, joined=True, shared=True)

    @property
    def own_scope(self) -> str:
        """The scope of new rows."""
        return EVERY if self.joined else self.chat

    @property
    def all_chats(self) -> bool:
        """Whether rows without a chat are visible."""
        return self.joined or self.shared

    def build_row_condition(self, table: str = "") -> Condition:
        """Return the condition for visible conversations and tasks, each of which has one chat.

        ``table`` qualifies the columns.
        """
        prefix = f"{table}." if table else ""
        if self.joined:
            return Condition(f"{prefix}agent_id = ?", (self.agent_id,))
        return self._build_condition(prefix, self.chat)

    def build_fact_condition(self, table: str = "") -> Condition:
        """Return the condition for visible facts: the chat's, and chatless ones if visible."""
        return self._build_condition(f"{table}." if table else "", self.chat)

    def build_open_condition(
        self, until: int, shown: Collection[int] = (), *, replaced: bool = False
    ) -> Condition:
        """Return the condition for visible facts that were open at a time (milliseconds).

        Changes since then have not ended them, but what is forgotten is gone. ``shown`` are ids of
        facts to leave out; ``replaced`` adds those that another fact has replaced. The columns are
        those of the table ``fact``.
        """
        where, values = self.build_fact_condition("fact")
        where += (
            " AND fact.created_at <= ? AND (fact.valid_to IS NULL"
            f" OR (fact.valid_to > ? OR fact.updated_at > ?{REPLACED if replaced else ''})"
            f" AND fact.ended_by NOT LIKE '{FORGOTTEN}%')"
        )
        if shown:
            where += f" AND fact.id NOT IN({','.join('?' * len(shown))})"
        return Condition(where, (*values, until, until, until, *shown))

    def build_profile_condition(self) -> Condition:
        """Return the condition for visible profiles; the chat's own comes first."""
        return self._build_condition("", self.own_scope)

    def _build_condition(self, prefix: str, own: str) -> Condition:
        if not self.all_chats or own == EVERY:
            return Condition(f"{prefix}agent_id = ? AND {prefix}scope = ?", (self.agent_id, own))
        sql = f"{prefix}agent_id = ? AND {prefix}scope IN(?, '{EVERY}')"
        return Condition(sql, (self.agent_id, own))
