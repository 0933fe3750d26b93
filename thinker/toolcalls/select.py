"""Which tools are offered to the model in a turn."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from thinker.protocol.messages import ToolSpec
from thinker.toolcalls.ranking import Ranking
from thinker.toolcalls.routes import routed

CAP = 25  # seed 002: "~15-25 tools"
MAX_KEPT = 2 * CAP  # tools with those of the turn before, for the cached layout
MAX_RECENT = 8  # tools of recent turns; the reference's THINKER_STICKY_TOOLS_MAX


@dataclass(frozen=True)
class Selection:
    """The offered tools by name, why each is offered, and required tools that do not exist."""

    tools: tuple[ToolSpec, ...]
    reasons: Mapping[str, str]
    missing: tuple[str, ...] = ()


def select(
    tools: Sequence[ToolSpec],
    text: str,
    *,
    required: Mapping[str, str],
    recent: Sequence[str],
    ranking: Ranking,
    kept: Sequence[str] = (),
    cap: int = CAP,
) -> Selection:
    """Choose the tools for a message.

    Up to ``cap`` tools are all offered. Of more, those that are always on, the best matches for
    the text and those of the kinds that it calls for fill the cap, in this order; required tools
    (name to playbook) and recently used ones (newest first) come on top of it. ``kept`` are those
    of the turn before, which stay as long as there are not more than ``MAX_KEPT`` with them. The
    order of the offer does not depend on the text, so that it stays cacheable.
    """
    known = {tool.name: tool for tool in reversed(tools)}  # the first of a name wins
    reasons = {name: "always" for name, tool in known.items() if tool.always}
    wanted = (
        dict.fromkeys(sorted(known), "all fit")
        if len(known) <= cap
        else _fitting(known, text, ranking)
    )
    others = [(name, why) for name, why in wanted.items() if name not in reasons]
    reasons |= dict(others[: max(0, cap - len(reasons))])
    for name, playbook in required.items():
        if name in known:
            reasons.setdefault(name, f"playbook {playbook}")
    for name in [name for name in recent if name in known][:MAX_RECENT]:
        reasons.setdefault(name, "recent")
    steady = dict.fromkeys((name for name in kept if name in known), "cached") | reasons
    if len(steady) <= MAX_KEPT:
        reasons = steady
    return Selection(
        tools=tuple(known[name] for name in sorted(reasons)),
        reasons=reasons,
        missing=tuple(name for name in required if name not in known),
    )


def exactly(tools: Sequence[ToolSpec], names: Sequence[str]) -> Selection:
    """The tools of these names and no others, as a scheduled task wants them (seed 002)."""
    known = {tool.name: tool for tool in tools}
    return Selection(
        tools=tuple(known[name] for name in sorted(set(names)) if name in known),
        reasons=dict.fromkeys(sorted(set(names) & known.keys()), "the task"),
        missing=tuple(name for name in names if name not in known),
    )


def _fitting(tools: Mapping[str, ToolSpec], text: str, ranking: Ranking) -> dict[str, str]:
    """The tools that fit a text, best first, and why."""
    matched = ranking.rank(tools, text)
    ranks = {name: f"matched, rank {rank}" for rank, name in enumerate(matched, 1)}
    kinds = routed(tools, text, default=not matched)
    return ranks | {name: f"route {kind}" for name, kind in kinds.items() if name not in ranks}
