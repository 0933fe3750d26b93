"""Decide what a call of a rewound or forked conversation may do, by what was done before.

The *tail* is what came after the point in the conversation that was left. A call that repeats one
of it gets the recorded result; one that does the like, worded anew, asks a person.

Where: does a call repeat what a rewound conversation did?
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple, TypeVar

from pydantic import Json, JsonValue

from orchestrator.chat_texts import format_on_one_line
from orchestrator.extensions.branches.effect_classes import find_effect_classes
from orchestrator.journal.turns.steps import Call
from thinker.protocol.messages import JsonObject, SideEffect, ToolResult

ALREADY = "this conversation did already"  # begins the reason of a question about the like
RECORDED = "(recorded; not done again)"  # begins a result that the model reads a second time
MAX_SHOWN = 60  # characters of a value in a reason
MAX_CALL = 110  # characters of the earlier call in a reason
MAX_CHANGES = 2  # differences that a reason names


@dataclass(frozen=True)
class EarlierCall:
    """A call with an effect in the tail; ``at`` in milliseconds."""

    turn_id: str
    seq: int
    name: str
    side_effect: SideEffect
    arguments: Json[JsonObject]
    args_hash: str
    state: str
    at: int
    result: Json[ToolResult] | None

    @property
    def key(self) -> str:
        return f"{self.turn_id}:{self.seq}"

    @property
    def is_outside(self) -> bool:
        """Whether the effect is outside the journal, or reaches people."""
        return is_outside(self.name, self.side_effect)


class NewCall(NamedTuple):
    """A call that is about to run, as the ledger compares it."""

    name: str
    side_effect: SideEffect
    arguments: JsonObject
    args_hash: str

    @classmethod
    def from_row(cls, call: Call, args_hash: str) -> "NewCall":
        return cls(call.name, call.side_effect, call.arguments, args_hash)


Named = TypeVar("Named", EarlierCall, NewCall)


def is_outside(name: str, side_effect: SideEffect) -> bool:
    """Return whether a call acts outside the journal: what is inside, a person can take back."""
    return side_effect is not SideEffect.LOCAL_TX or name.startswith("send_")


def judge_repetition(
    call: NewCall, tail: Sequence[EarlierCall], approved: Sequence[str]
) -> EarlierCall | str | None:
    """Return the earlier call whose result answers a call, or why it must be approved, if either.

    ``tail`` has no call whose result has answered another one, oldest first. ``approved`` are the
    tools of calls that were approved despite the tail: each settles one of it.
    """
    same = [one for one in tail if one.args_hash == call.args_hash and one.name == call.name]
    done = next((one for one in same if one.state == "done" and one.result is not None), None)
    if done is not None:
        return done
    if not is_outside(call.name, call.side_effect):
        return None
    if same:
        return f"{ALREADY} {_describe_call(same[0])}, and its outcome is unknown"
    left = [one for one in tail if one.is_outside]
    for name in approved:
        settled = find_alike(name, left)
        if settled is not None:
            left.remove(settled)
    like = find_alike(call.name, left)
    if like is None:
        return None
    return f"{ALREADY} {_describe_call(like)}; now: {_describe_change(call, like)}"


def find_alike(name: str, calls: Sequence[Named]) -> Named | None:
    """Return the first call of a tool, else of one that also sends, pays or deletes."""
    classes = find_effect_classes(name)
    kin = (one for one in calls if classes & find_effect_classes(one.name))
    return next((one for one in calls if one.name == name), None) or next(kin, None)


def _describe_call(call: EarlierCall) -> str:
    at = datetime.fromtimestamp(call.at / 1000, UTC)
    return f"{_show_call(call.name, call.arguments)} at {at:%Y-%m-%d %H:%M} UTC"


def _describe_change(call: NewCall, earlier: EarlierCall) -> str:
    if call.name != earlier.name:
        return _show_call(call.name, call.arguments)
    before, after = earlier.arguments, call.arguments
    names = [name for name in {**before, **after} if before.get(name) != after.get(name)]
    changes = [
        f"{name} {_show_value(before.get(name))} → {_show_value(after.get(name))}"
        for name in names[:MAX_CHANGES]
    ]
    more = len(names) - MAX_CHANGES
    return ", ".join([*changes, *([f"and {more} more"] if more > 0 else [])])


def _show_call(name: str, arguments: JsonObject) -> str:
    values = ", ".join(f"{key}: {_show_value(value)}" for key, value in arguments.items())
    return f"{name}({_cut(values, MAX_CALL)})"


def _show_value(value: JsonValue) -> str:
    return _cut(format_on_one_line(value), MAX_SHOWN)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
