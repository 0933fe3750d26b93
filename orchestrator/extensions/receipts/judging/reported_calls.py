"""What a judgement is made from, and what it says."""

from typing import Literal, NamedTuple, TypeAlias

CallState: TypeAlias = Literal["done", "failed", "denied", "unknown", "waiting", "ledger"]
Verdict: TypeAlias = Literal["shown", "false", "unconfirmed", "not_yet"]


class JudgedCall(NamedTuple):
    """A call that the conversation has made; ``ledger``: done before, answered from the record."""

    tool: str
    description: str
    arguments: str
    result: str
    state: CallState


class KnownTool(NamedTuple):
    """A tool that the agent could have called."""

    name: str
    description: str


class Claim(NamedTuple):
    """A sentence that reports an effect; ``seqs`` are the places of the calls that show it.

    ``kind`` is send, write, delete, schedule, remember, pay, change or call. ``note`` says in a
    few words what is wrong; it is empty for a claim that is shown.
    """

    text: str
    kind: str
    verdict: Verdict
    seqs: tuple[int, ...]
    note: str
