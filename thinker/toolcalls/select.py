"""Which tools are offered to the model in a turn."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from thinker.protocol.messages import ToolSpec
from thinker.protocol.methods import TurnRun
from thinker.protocol.vectors import RELEVANT
from thinker.toolcalls.ranking import Ranking
from thinker.toolcalls.routes import routed

CAP = 25  # seed 002: "~15-25 tools"
MAX_KEPT = 2 * CAP  # tools with those of the turn before, for the cached layout
BY_MEANING = 15  # tools; reference/annabelle.md §4, TOOL_SELECTOR_TOP_K
DAMPING = 60  # of the ranks when two orders are merged (Cormack et al. 2009)
SURE, CALM = 0.6, 0.3  # a score above the first, and the temperature that it allows; seed 002
MAX_RECENT = 8  # tools of recent turns; the reference's THINKER_STICKY_TOOLS_MAX


@dataclass(frozen=True)
class Selection:
    """The offered tools by name, why each is offered, and required ones that do not exist.

    ``missing`` has what each of those is required by.
    """

    tools: tuple[ToolSpec, ...]
    reasons: Mapping[str, str]
    missing: Mapping[str, str]


class Selector:
    """Selects the tools of an agent's turns; as before, while nothing changes that counts."""

    def __init__(self) -> None:
        self._ranking = Ranking()
        self._asked: tuple[object, ...] = ()
        self._selection = Selection((), {}, {})

    def for_turn(
        self, turn: TurnRun, text: str, required: Mapping[str, str], scores: Mapping[str, float]
    ) -> Selection:
        """The tools of a turn: a task's are fixed, others fit ``text``."""
        if turn.tool_choice.name:
            required = {**required, turn.tool_choice.name: "the tool choice"}
        asked: tuple[object, ...] = (
            turn.tools,
            turn.required_tools,
            turn.recent_tools,
            turn.offered,
            required,
        )
        if len(turn.tools) > CAP:
            asked = (*asked, text, scores)
        if asked != self._asked:
            self._asked, self._selection = asked, self._select(turn, text, required, scores)
        return self._selection

    def _select(
        self, turn: TurnRun, text: str, required: Mapping[str, str], scores: Mapping[str, float]
    ) -> Selection:
        if turn.required_tools is not None:
            return exactly(turn.tools, turn.required_tools)
        return select(
            turn.tools,
            text,
            required=required,
            recent=turn.recent_tools,
            ranking=self._ranking,
            kept=turn.offered,
            scores=scores,
        )


def select(
    tools: Sequence[ToolSpec],
    text: str,
    *,
    required: Mapping[str, str],
    recent: Sequence[str],
    ranking: Ranking,
    kept: Sequence[str] = (),
    scores: Mapping[str, float] = MappingProxyType({}),
    cap: int = CAP,
) -> Selection:
    """Choose the tools for a message.

    Up to ``cap`` tools are all offered. Of more, those that are always on, the best matches for
    the text and those of the kinds that it calls for fill the cap, in this order; required tools
    (name to playbook) and recently used ones (newest first) come on top of it. ``kept`` are those
    of the turn before, which stay as long as there are not more than ``MAX_KEPT`` with them.
    ``scores`` say how near a tool is to the text in meaning. The order of the offer does not depend
    on the text, so that it stays cacheable.
    """
    known = {tool.name: tool for tool in reversed(tools)}  # the first of a name wins
    reasons = {name: "always" for name, tool in known.items() if tool.always}
    wanted = (
        dict.fromkeys(sorted(known), "all fit")
        if len(known) <= cap
        else _fitting(known, text, ranking, scores)
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
        missing={name: why for name, why in required.items() if name not in known},
    )


def exactly(tools: Sequence[ToolSpec], names: Sequence[str]) -> Selection:
    """The tools of these names and no others, as a scheduled task wants them (seed 002)."""
    known = {tool.name: tool for tool in tools}
    return Selection(
        tools=tuple(known[name] for name in sorted(set(names)) if name in known),
        reasons=dict.fromkeys(sorted(set(names) & known.keys()), "the task"),
        missing={name: "the task" for name in names if name not in known},
    )


def temperature(configured: float, scores: Mapping[str, float]) -> float:
    """What the model is asked with: lower when a tool is surely meant (seed 002)."""
    return min(configured, CALM) if max(scores.values(), default=0.0) > SURE else configured


def merged(*orders: Sequence[str]) -> list[str]:
    """Orders as one: what stands high in one of them, and above all in several, stands high."""
    weights: dict[str, float] = {}
    for order in orders:
        for rank, name in enumerate(order, 1):
            weights[name] = weights.get(name, 0.0) + 1 / (DAMPING + rank)
    return sorted(weights, key=lambda name: -weights[name])


def _fitting(
    tools: Mapping[str, ToolSpec], text: str, ranking: Ranking, scores: Mapping[str, float]
) -> dict[str, str]:
    """The tools that fit a text, best first, and why."""
    matched = ranking.rank(tools, text)
    near = [name for name in tools if scores.get(name, 0.0) >= RELEVANT]
    meant = sorted(near, key=lambda name: (-scores[name], name))[:BY_MEANING]
    reasons = {name: f"matched, rank {rank}" for rank, name in enumerate(matched, 1)}
    reasons |= {name: f"meaning {scores[name]:.2f}" for name in meant}
    fitting = merged(meant, matched)
    kinds = routed(tools, text, default=not fitting)
    routes = {name: f"route {kind}" for name, kind in kinds.items() if name not in reasons}
    return {name: reasons[name] for name in fitting} | routes
