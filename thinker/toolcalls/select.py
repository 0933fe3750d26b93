"""Select the tools offered to the model in a turn.

Where: are the tools for a model call selected?
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from thinker.protocol.messages import ToolResult, ToolSpec
from thinker.protocol.methods import EVERY, TurnRun
from thinker.protocol.prompt_record import PromptRecord
from thinker.protocol.vectors import RELEVANT
from thinker.toolcalls.ranking import Ranking
from thinker.toolcalls.routes import route_tools

CAP = 25  # tools offered, besides required and recent ones
MAX_KEPT = 2 * CAP  # tools, with those kept for the cached layout
MAX_BY_MEANING = 15  # tools chosen by their embeddings
DAMPING = 60  # constant of reciprocal rank fusion (Cormack et al. 2009)
SURE, CALM = 0.6, 0.3  # above the first score, at most the second temperature
MAX_RECENT = 8  # recently used tools that stay offered
FINDER = "find_tools"  # the loop offers the tools that its results name


@dataclass(frozen=True)
class Selection:
    """The offered tools, sorted by name, and the reason for each.

    ``missing`` maps required tools that do not exist to their playbooks or other reasons; ``rest``
    are tools that the model may find.
    """

    tools: tuple[ToolSpec, ...]
    reasons: dict[str, str]
    missing: dict[str, str]
    rest: tuple[ToolSpec, ...] = ()


class Selector:
    """Selects the tools of an agent's turns; caches the selection until its inputs change."""

    def __init__(self) -> None:
        self._ranking = Ranking()
        self._inputs: list[object] = []
        self._selection = Selection((), {}, {})

    def select_for_turn(
        self, turn: TurnRun, text: str, required: Mapping[str, str], scores: Mapping[str, float]
    ) -> Selection:
        """Return the tools of a turn: a task's fixed ones, otherwise those that fit ``text``."""
        if turn.tool_choice.name:
            required = {**required, turn.tool_choice.name: "the tool choice"}
        if turn.given is not None and not {EVERY, "tools"} & {*turn.renewed}:
            return select_given_tools(turn.tools, turn.given)
        called = self._ranking.list_called_tools(turn.tools, text, scores)
        inputs: list[object] = [required, turn.tools, turn.required_tools]
        inputs += [turn.recent_tools, turn.offered, called]
        if len(turn.tools) > CAP and len(_list_plain_names(turn.tools)) > CAP:
            inputs += [text, scores]
        if inputs == self._inputs:
            return self._selection
        if turn.required_tools is not None:
            selection = select_named_tools(turn.tools, turn.required_tools)
        else:
            selection = select_tools(
                turn.tools,
                text,
                required=required,
                recent=turn.recent_tools,
                ranking=self._ranking,
                kept=turn.offered,
                scores=scores,
            )
        if selection.tools == self._selection.tools:  # the same object keeps its fingerprint
            selection = replace(selection, tools=self._selection.tools)
        self._inputs, self._selection = inputs, selection
        return selection


def select_tools(
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

    Up to ``cap`` tools are all offered, besides tools on demand. Of more, tools that are always on,
    the best matches for the text and the routed kinds fill the cap, in this order. Tools on demand
    that fit the text, required ones (name to playbook) and recently used ones (newest first) are
    additional. ``kept`` are the tools of the previous turn, which stay while there are at most
    ``MAX_KEPT`` with them. ``scores`` are cosines of the tools and the text. The offer is sorted by
    name, independent of the text, so that prompt caches can match it.
    """
    known = {tool.name: tool for tool in reversed(tools)}  # the first of a name wins
    reasons = {name: "always" for name, tool in known.items() if tool.always}
    plain = _list_plain_names(known.values())
    candidates = (
        dict.fromkeys(sorted(plain), "all fit")
        if len(plain) <= cap
        else _list_fitting_tools(known, text, ranking, scores)
    )
    others = [(name, why) for name, why in candidates.items() if name not in reasons]
    reasons |= dict(others[: max(0, cap - len(reasons))])
    called = ranking.list_called_tools(tools, text, scores)
    reasons = dict.fromkeys(called, "keyword") | reasons
    for name, playbook in required.items():
        if name in known:
            reasons.setdefault(name, f"playbook {playbook}")
    for name in [name for name in recent if name in known][:MAX_RECENT]:
        reasons.setdefault(name, "recent")
    steady = dict.fromkeys((name for name in kept if name in known), "cached") | reasons
    if len(steady) <= MAX_KEPT:
        reasons = steady
    missing = {name: why for name, why in required.items() if name not in known}
    return _offer_tools(known, reasons, missing)


def select_given_tools(tools: Sequence[ToolSpec], given: PromptRecord) -> Selection:
    """Return the tools that a recorded prompt was sent with."""
    known = {tool.name: tool for tool in reversed(tools)}
    reasons = {name: given.reasons.get(name, "") for name in given.tools if name in known}
    return _offer_tools(
        known, reasons, dict.fromkeys(set(given.tools) - known.keys(), "the record")
    )


def _offer_tools(
    known: dict[str, ToolSpec], reasons: dict[str, str], missing: dict[str, str]
) -> Selection:
    """Return the selection of the tools with reasons; the finder, if any, finds the others."""
    rest = tuple(known[name] for name in sorted(known.keys() - reasons.keys()))
    if FINDER not in reasons:
        rest = ()
    elif rest:
        on_demand = sorted(known.keys() - _list_plain_names(known.values()))
        about = f"{known[FINDER].description} {', '.join(on_demand)}".strip()
        known[FINDER] = known[FINDER].model_copy(update={"description": about})
    else:
        del reasons[FINDER]
    return Selection(tuple(known[name] for name in sorted(reasons)), reasons, missing, rest)


def list_found_tools(results: Iterable[ToolResult]) -> set[str]:
    """Return the names of the tools that the results of the tool finder list."""
    texts = (result.content for result in results if result.name == FINDER and not result.is_error)
    return {name for text in texts for name in re.findall(r"^- (\S+)$", text, re.MULTILINE)}


def select_named_tools(tools: Sequence[ToolSpec], names: Sequence[str]) -> Selection:
    """Return only the tools with these names, for a scheduled task."""
    known = {tool.name: tool for tool in tools}
    return Selection(
        tools=tuple(known[name] for name in sorted(set(names)) if name in known),
        reasons=dict.fromkeys(sorted(set(names) & known.keys()), "the task"),
        missing={name: "the task" for name in names if name not in known},
    )


def _list_plain_names(tools: Iterable[ToolSpec]) -> set[str]:
    """Return the names of the tools that are not on demand; without a finder, of all tools."""
    tools = tuple(tools)
    findable = any(tool.name == FINDER for tool in tools)
    return {tool.name for tool in tools if not (findable and tool.keywords)}


def choose_temperature(configured: float, scores: Mapping[str, float]) -> float:
    """Return the sampling temperature: low if a tool clearly matches the message."""
    return min(configured, CALM) if max(scores.values(), default=0.0) > SURE else configured


def merge_rankings(*orders: Sequence[str]) -> list[str]:
    """Merge rankings: an item ranks high if it does in one ranking, and higher if in several."""
    weights: dict[str, float] = {}
    for order in orders:
        for rank, name in enumerate(order, 1):
            weights[name] = weights.get(name, 0.0) + 1 / (DAMPING + rank)
    return sorted(weights, key=lambda name: -weights[name])


def _list_fitting_tools(
    tools: Mapping[str, ToolSpec], text: str, ranking: Ranking, scores: Mapping[str, float]
) -> dict[str, str]:
    """Return the tools that fit a text, best first, with reasons."""
    matched = ranking.rank_tools(tools, text)
    near = [name for name in tools if scores.get(name, 0.0) >= RELEVANT]
    by_meaning = sorted(near, key=lambda name: (-scores[name], name))[:MAX_BY_MEANING]
    reasons = {name: f"matched, rank {rank}" for rank, name in enumerate(matched, 1)}
    reasons |= {name: f"meaning {scores[name]:.2f}" for name in by_meaning}
    fitting = merge_rankings(by_meaning, matched)
    kinds = route_tools(tools, text, default=not fitting)
    routes = {name: f"route {kind}" for name, kind in kinds.items() if name not in reasons}
    return {name: reasons[name] for name in fitting} | routes
