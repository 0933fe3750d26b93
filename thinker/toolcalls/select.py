"""Which tools are offered to the model in a turn."""

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from thinker.protocol.messages import ToolSpec

CAP = 25  # seed 002: "~15-25 tools"
MAX_RECENT = 8  # tools of recent turns; the reference's THINKER_STICKY_TOOLS_MAX
MIN_PLURAL = 4  # shorter words keep their "s": "is", "was"
NAME_WEIGHT = 2.0  # a word of the name tells more than one of the description


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
    cap: int = CAP,
) -> Selection:
    """Choose the tools for a message.

    Up to ``cap`` tools are all offered. Of more, those that are always on and the best matches
    for the text fill the cap; required tools (name to playbook) and recently used ones (newest
    first) come on top of it. The order does not depend on the text, so that it stays cacheable.
    """
    known = {tool.name: tool for tool in reversed(tools)}  # the first of a name wins
    reasons = {name: "always" for name, tool in known.items() if tool.always}
    if len(known) <= cap:
        ranked = sorted(known)
        why = "all fit"
    else:
        ranked = _ranked(known, text)
        why = "matched"
    others = [name for name in ranked if name not in reasons]
    reasons |= dict.fromkeys(others[: max(0, cap - len(reasons))], why)
    for name, playbook in required.items():
        if name in known:
            reasons.setdefault(name, f"playbook {playbook}")
    for name in [name for name in recent if name in known][:MAX_RECENT]:
        reasons.setdefault(name, "recent")
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


def _ranked(tools: Mapping[str, ToolSpec], text: str) -> list[str]:
    """The tools that share a word with the text, best first; rare words count more."""
    names = {name: _words(name) for name in tools}
    words = {name: names[name] | _words(tool.description) for name, tool in tools.items()}
    frequency = Counter(word for found in words.values() for word in found)
    asked = _words(text)
    scores = {
        name: math.fsum(
            math.log(len(tools) / frequency[word]) * (NAME_WEIGHT if word in names[name] else 1.0)
            for word in asked & words[name]
        )
        for name in tools
    }
    return sorted(
        (name for name, score in scores.items() if score > 0),
        key=lambda name: (-scores[name], name),
    )


def _words(text: str) -> frozenset[str]:
    """The words of a text, lower case, a plural like its singular."""
    return frozenset(
        word[:-1] if len(word) >= MIN_PLURAL and word.endswith("s") else word
        for word in re.findall(r"[^\W_]+", text.lower())
    )
