"""What a turn has read: text of others, and what is private.

A turn that has read both could be talked into carrying the one to the author of the other. The
record is part of the turn, so that a resumed turn knows it too.
"""

import apsw
from pydantic import Field

from thinker.protocol.messages import UNTRUSTED, Frozen, Origin, ToolResult, least_trusted

CONVERSATION = "the conversation"  # the source of what earlier turns have read


class Taint(Frozen):
    """What a turn has read, by source: a tool's name, ``facts`` or another part of the prompt."""

    untrusted: dict[str, Origin] = Field(default_factory=dict)
    private: dict[str, bool] = Field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.untrusted or self.private)

    @property
    def both(self) -> bool:
        return bool(self.untrusted and self.private)

    @property
    def origin(self) -> Origin:
        """Who must be taken for the author of what the turn writes."""
        return least_trusted("user", *self.untrusted.values())

    @property
    def own(self) -> "Taint":
        """What this turn itself has read, without what came with its history."""
        return Taint(
            untrusted={k: v for k, v in self.untrusted.items() if k != CONVERSATION},
            private={k: v for k, v in self.private.items() if k != CONVERSATION},
        )


def load(db: apsw.Connection, turn_id: str) -> Taint:
    found = db.execute("SELECT taint FROM turn WHERE id = ?", (turn_id,)).get
    return Taint() if found in (None, "{}") else Taint.model_validate_json(str(found))


def add(db: apsw.Connection, turn_id: str, more: Taint) -> None:
    """Record what a turn has read, beside what it had read before."""
    if more:
        db.execute(
            "UPDATE turn SET taint = json_patch(taint, ?1)"
            " WHERE id = ?2 AND taint <> json_patch(taint, ?1)",
            (more.model_dump_json(), turn_id),
        )


def of_result(result: ToolResult) -> Taint:
    return Taint(
        untrusted={result.name: result.origin} if result.origin in UNTRUSTED else {},
        private={result.name: True} if result.private else {},
    )
