"""A week of an agent's turns, as various as real ones, and what another model makes of them."""

from dataclasses import replace
from random import Random

from orchestrator.extensions.workbench.switch_costs import TriedUse
from orchestrator.extensions.workbench.turn_sample import DAY, KINDS, TurnKind, UsedTurn

# By kind: model calls, and how many tokens another model needs for one of the recorded model.
CALLS: dict[TurnKind, int] = {"tools": 3, "plain": 1, "failed": 4}
PROMPT: dict[TurnKind, float] = {"tools": 1.1, "plain": 1.25, "failed": 0.8}
COMPLETION: dict[TurnKind, float] = {"tools": 1.6, "plain": 0.7, "failed": 2.0}


def used_turn(
    number: int, kind: TurnKind = "plain", prompt: int = 1000, **more: object
) -> UsedTurn:
    """A turn of the number's hour."""
    turn = UsedTurn(
        turn_id=f"turn-{number}",
        at=number * DAY // 24,
        has_tools=kind != "plain",
        has_failed=kind == "failed",
        is_complete=True,
        calls=CALLS[kind],
        prompt=prompt,
        completion=prompt // 10,
        cached=prompt // 4,
        usd=prompt / 1_000_000,
    )
    return replace(turn, **more)  # type: ignore[arg-type]


def week_of_turns(chance: Random, number: int = 300) -> list[UsedTurn]:
    """Turns of each kind, of which a few are very long."""
    kinds = chance.choices(KINDS, (5, 8, 1), k=number)
    return [
        used_turn(n, kind, round(CALLS[kind] * chance.lognormvariate(7, 0.8)))
        for n, kind in enumerate(kinds)
    ]


def run_again(turn: UsedTurn, chance: Random) -> TriedUse:
    """What another model needs for a turn, each time a little more or less."""
    noise = chance.uniform(0.9, 1.1)
    prompt = round(turn.prompt * PROMPT[turn.kind] * noise)
    completion = round(turn.completion * COMPLETION[turn.kind] * noise)
    return TriedUse(prompt, completion, round(prompt * chance.uniform(0.2, 0.3)))
