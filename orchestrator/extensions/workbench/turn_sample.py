"""Choose recorded turns of an agent to try a model on: of every day and kind, and the dearest."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, TypeAlias

from pydantic import Field

from orchestrator.control.camel_model import CamelModel
from orchestrator.control.trials import MAX_TURNS
from orchestrator.journal.db.database import Database, Rows
from orchestrator.journal.db.row_times import find_first_row_since

SWITCH_SAMPLE = "switch/sample"  # SampleRequest → TurnSample
SWITCH_COMPARE = "switch/compare"  # SwitchQuestion → SwitchReport

DAY = 86_400_000  # milliseconds
MOST_DAYS = 366  # to choose among
DEAREST = 8  # one turn of so many is one of the dearest
FEWEST = 2  # turns of a kind, if it has them

TurnKind: TypeAlias = Literal["tools", "plain", "failed"]
KINDS: tuple[TurnKind, ...] = ("tools", "plain", "failed")


class SampleRequest(CamelModel):
    """Asks for so many turns of the last ``days`` of an agent."""

    agent_id: str
    days: float = Field(7, gt=0, le=MOST_DAYS)
    turns: int = Field(40, ge=1, le=MAX_TURNS)


class TurnSample(CamelModel):
    """Turns to try, oldest first, chosen from so many ``of`` an agent.

    ``older`` are turns that were recorded before they could be tried again.
    """

    agent_id: str
    turns: tuple[str, ...]
    of: int
    older: int = 0


@dataclass(frozen=True)
class UsedTurn:
    """A recorded turn and the tokens that it took; ``usd`` is None if a price is unknown."""

    turn_id: str
    at: int
    has_tools: bool
    has_failed: bool
    is_complete: bool
    calls: int
    prompt: int
    completion: int
    cached: int
    usd: float | None

    @property
    def kind(self) -> TurnKind:
        """What decides how the turn's cost may change."""
        if self.has_failed:
            return "failed"
        return "tools" if self.has_tools else "plain"

    @property
    def tokens(self) -> int:
        """All tokens."""
        return self.prompt + self.completion


# A turn is complete if all of its prompts were recorded with the settings of their workers.
USED = Rows(
    UsedTurn,
    "turn JOIN model_call ON turn_id = turn.id",
    "turn.id, started_at, EXISTS(SELECT 1 FROM step WHERE turn_id = turn.id AND kind = 'tool'),"
    " turn.state <> 'closed' OR EXISTS(SELECT 1 FROM step WHERE turn_id = turn.id"
    " AND kind = 'tool' AND state IN('failed','unknown')),"
    " NOT EXISTS(SELECT 1 FROM turn_prompt WHERE turn_id = turn.id AND settings IS NULL),"
    " count(*), sum(prompt), sum(completion), sum(cached),"
    " CASE WHEN count(usd) = count(*) THEN sum(usd) END",
)
OF_AN_AGENT = """turn.rowid >= ? AND turn.agent_id = ? AND started_at >= ? AND started_at < ?
AND turn.state IN('closed','failed','cancelled','dead')
AND model_call.state = 'settled' AND purpose = 'turn'
AND EXISTS(SELECT 1 FROM turn_prompt WHERE turn_prompt.turn_id = turn.id)
GROUP BY turn.id, started_at, turn.state ORDER BY started_at, turn.id"""


def list_used_turns(db: Database, agent_id: str, since: int, until: int) -> list[UsedTurn]:
    """Return an agent's ended turns of a period in milliseconds that called models, by time."""
    first = find_first_row_since(db, "turn", since)
    return USED.select(db, OF_AN_AGENT, first, agent_id, since, until)


def choose_sample(turns: Sequence[UsedTurn], number: int) -> list[UsedTurn]:
    """Return at most so many of the turns, in their order; the same ones each time.

    Each kind has its share, spread over the period, besides the dearest of all.
    """
    if len(turns) <= number:
        return list(turns)
    by_cost = sorted(turns, key=lambda turn: -turn.tokens)
    chosen = set(by_cost[: number // DEAREST])
    rest = [turn for turn in turns if turn not in chosen]
    for kind, share in _share_number(rest, number - len(chosen)).items():
        chosen.update(_spread_choice([turn for turn in rest if turn.kind == kind], share))
    return [turn for turn in turns if turn in chosen]


def _share_number(turns: Sequence[UsedTurn], number: int) -> dict[TurnKind, int]:
    """Return how many turns of each kind to choose: in proportion, but a few of each at least."""
    sizes = {kind: sum(turn.kind == kind for turn in turns) for kind in KINDS}
    shares = {
        kind: min(size, max(FEWEST, number * size // len(turns))) for kind, size in sizes.items()
    }
    while (over := sum(shares.values()) - number) != 0:
        step = 1 if over < 0 else -1
        able = [kind for kind in KINDS if 0 <= shares[kind] + step <= sizes[kind]]
        largest = max(
            able, key=lambda kind: sizes[kind] - shares[kind] if step > 0 else shares[kind]
        )
        shares[largest] += step
    return shares


def _spread_choice(turns: Sequence[UsedTurn], number: int) -> list[UsedTurn]:
    """Return one turn of each of so many equal stretches, without a pattern within them."""
    edges = [len(turns) * n // number for n in range(number + 1)] if number else [0]
    stretches = (turns[start:end] for start, end in pairwise(edges))
    return [min(stretch, key=_compute_lot) for stretch in stretches]


def _compute_lot(turn: UsedTurn) -> bytes:
    return hashlib.sha256(turn.turn_id.encode()).digest()
