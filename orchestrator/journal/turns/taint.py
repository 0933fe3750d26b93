"""What a turn has read: text of others, and what is private.

A turn that has read both could be talked into carrying the one to the author of the other. The
record is part of the turn, so that a resumed turn knows it too.
"""

from collections.abc import Iterable, Mapping, Sequence
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
    least_trusted,
)

CONVERSATION = "the conversation"  # the source of what earlier turns have read
EARLIER = "an earlier turn"  # the source of what a turn had read together with text of others
INHERITED = (CONVERSATION, EARLIER)
MESSAGE = "the message"
DOCUMENT = "the document"


@dataclass(frozen=True)
class Taint:
    """What a turn has read, by source: a tool's name, ``facts`` or another part of the prompt."""

    untrusted: Mapping[str, Origin] = field(default_factory=dict)
    private: Mapping[str, bool] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.untrusted or self.private)

    @property
    def both(self) -> bool:
        """Whether the turn has read both, one of them itself; or an earlier turn had read both."""
        own = self.own
        here = own.untrusted or own.private or EARLIER in self.private
        return bool(self.untrusted and self.private and here)

    @property
    def mixed(self) -> bool:
        """Whether private data and text of others met, from more than one source."""
        own = self.own
        return bool(own.untrusted and own.private) and len({*own.untrusted, *own.private}) > 1

    @property
    def origin(self) -> Origin:
        """Who must be taken for the author of what the turn writes."""
        return least_trusted("user", *self.untrusted.values())

    @property
    def own(self) -> "Taint":
        """What this turn itself has read, without what came with its history."""
        return Taint(
            untrusted={k: v for k, v in self.untrusted.items() if k not in INHERITED},
            private={k: v for k, v in self.private.items() if k not in INHERITED},
        )


UNREAD = Taint()


def load(db: Database, turn_id: str) -> Taint:
    found = db.execute("SELECT taint FROM turn WHERE id = ?", (turn_id,)).get or "{}"
    return UNREAD if found == "{}" else Taint(**orjson.loads(found))


def add(db: Database, turn_id: str, more: Taint) -> None:
    """Record what a turn has read, beside what it had read before."""
    if more and (known := load(db, turn_id)) != (both := joined((known, more))):
        values = (orjson.dumps(both).decode(), turn_id)
        db.execute("UPDATE turn SET taint = ? WHERE id = ?", values)


def joined(parts: Iterable[Taint]) -> Taint:
    untrusted: dict[str, Origin] = {}
    private: dict[str, bool] = {}
    for part in parts:
        untrusted.update(part.untrusted)
        private.update(part.private)
    return Taint(untrusted=untrusted, private=private)


def of_origin(origin: Origin) -> Taint:
    """Return what a message of this origin brings into a turn."""
    return Taint(untrusted={MESSAGE: origin} if origin in UNTRUSTED else {})


def of_documents(said: Iterable[Message]) -> Taint:
    """Return what the documents of a turn's messages bring into it: anyone may have written one."""
    quoted = any(isinstance(message, UserMessage) and message.quotes for message in said)
    return Taint(untrusted={DOCUMENT: "other_user"} if quoted else {})


def of_history(history: Sequence[Message]) -> Taint:
    """Return what earlier turns have read and this one can still see."""
    origins = {m.origin for m in history if m.untrusted}
    if not origins.isdisjoint(("operator", "user")):
        origins |= {"tool"}
    said = [message for message in history if not isinstance(message, UserMessage)]
    private = {CONVERSATION: True} if any(message.private for message in said) else {}
    if any(isinstance(message, AssistantMessage) and message.mixed for message in said):
        private[EARLIER] = True
    return Taint(
        untrusted={CONVERSATION: least_trusted(*origins)} if origins else {}, private=private
    )


def of_result(result: ToolResult) -> Taint:
    return Taint(
        untrusted={result.name: result.origin} if result.origin in UNTRUSTED else {},
        private={result.name: True} if result.private else {},
    )
