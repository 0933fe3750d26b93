"""What a turn has read: others' text, and private data.

A turn that has read both could be persuaded to send the private data to the text's author. The
record is part of the turn, so that a resumed turn knows it too.

Where: is a turn's exposure to data recorded?
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import orjson

from orchestrator.journal.db.database import Database
from thinker.protocol.messages import (
    UNTRUSTED,
    AssistantMessage,
    Message,
    Origin,
    ToolResult,
    UserMessage,
    find_least_trusted,
)

CONVERSATION = "the conversation"  # the source of data that earlier turns have read
EARLIER = "an earlier turn"  # the source of data that a turn read together with others' text
INHERITED = (CONVERSATION, EARLIER)
MESSAGE = "the message"
DOCUMENT = "the document"
QUOTE = "the quoted message"
READ = "SELECT taint FROM turn WHERE id = ?"


@dataclass(frozen=True)
class Taint:
    """What a turn has read, by source: a tool's name, ``facts`` or another part of the prompt."""

    untrusted: Mapping[str, Origin] = field(default_factory=dict)
    private: Mapping[str, bool] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.untrusted or self.private)

    @property
    def has_read_both(self) -> bool:
        """Whether private data and others' text have met.

        They meet in this turn, in part through its history, or met already in an earlier turn.
        """
        own = self.own_taint
        here = own.untrusted or own.private or EARLIER in self.private
        return bool(self.untrusted and self.private and here)

    @property
    def is_mixed(self) -> bool:
        """Whether this turn itself has read both, from more than one source."""
        own = self.own_taint
        return bool(own.untrusted and own.private) and len({*own.untrusted, *own.private}) > 1

    @property
    def origin(self) -> Origin:
        """The origin to assume for what the turn writes."""
        return find_least_trusted("user", *self.untrusted.values())

    @property
    def own_taint(self) -> "Taint":
        """What this turn itself has read, without its history."""
        return Taint(
            untrusted={k: v for k, v in self.untrusted.items() if k not in INHERITED},
            private={k: v for k, v in self.private.items() if k not in INHERITED},
        )


UNREAD = Taint()


def load_taint(db: Database, turn_id: str) -> Taint:
    found = db.execute(READ, (turn_id,)).get or "{}"
    return UNREAD if found == "{}" else Taint(**orjson.loads(found))


def add_taint(db: Database, turn_id: str, more: Taint) -> None:
    """Record what a turn has read, in addition to earlier records."""
    if more and (known := load_taint(db, turn_id)) != (both := join_taints((known, more))):
        values = (orjson.dumps(both).decode(), turn_id)
        db.execute("UPDATE turn SET taint = ? WHERE id = ?", values)


def join_taints(parts: Sequence[Taint]) -> Taint:
    if len(parts) <= 1:
        return parts[0] if parts else UNREAD
    untrusted: dict[str, Origin] = {}
    private: dict[str, bool] = {}
    for part in parts:
        untrusted.update(part.untrusted)
        private.update(part.private)
    return Taint(untrusted=untrusted, private=private)


def make_origin_taint(origin: Origin) -> Taint:
    """Return the taint that a message of this origin brings into a turn."""
    return Taint(untrusted={MESSAGE: origin}) if origin in UNTRUSTED else UNREAD


def make_attached_taint(message: Message) -> Taint:
    """Return the taint of a message's documents and of what it answers."""
    if not isinstance(message, UserMessage) or not message.has_quoted_text:
        return UNREAD
    source = DOCUMENT if message.documents else QUOTE
    return Taint(untrusted={source: "other_user"})


def make_history_taint(history: Sequence[Message]) -> Taint:
    """Return the taint of what earlier turns have read and this one can still see."""
    origins: set[Origin] = set()
    private = mixed = False
    for message in history:
        if isinstance(message, UserMessage):
            if message.origin in UNTRUSTED or message.is_untrusted:
                origins.add(message.origin)
            continue
        if message.origin in UNTRUSTED:
            origins.add(message.origin)
        private |= message.private
        mixed |= isinstance(message, AssistantMessage) and message.mixed
    if not (origins or private or mixed):
        return UNREAD
    if not origins.isdisjoint(("operator", "user")):
        origins.add("tool")
    return Taint(
        untrusted={CONVERSATION: find_least_trusted(*origins)} if origins else {},
        private=({CONVERSATION: True} if private else {}) | ({EARLIER: True} if mixed else {}),
    )


def make_result_taint(result: ToolResult) -> Taint:
    return Taint(
        untrusted={result.name: result.origin} if result.origin in UNTRUSTED else {},
        private={result.name: True} if result.private else {},
    )
