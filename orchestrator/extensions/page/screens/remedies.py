"""Troubles in people's words, each with the screen where it can be mended."""

import re
from typing import NamedTuple

import htpy as h

from orchestrator.control.roles import Right
from orchestrator.extensions.page.html import figures
from orchestrator.extensions.page.html.forms import build_link
from orchestrator.extensions.page.html.outside_text import strip_terminal_codes
from orchestrator.extensions.page.html.parts import NoteKind, render_link_button, render_note
from orchestrator.extensions.page.screen_request import ScreenRequest

# Where a text of the daemon ends that says which command mends it: a link says it here.
_COMMAND = re.compile(
    r"[;,.]?\s*(?:put \w+=\S* into \S+ |check it, |install it, )?(?:and |then )*"
    r"(?:run|see):? orchestrator [a-z -]+.*$",
    re.DOTALL,
)
# The reason of a pause by a budget, as `spending.budgets.find_exceeded_limit` writes it.
_BUDGET = re.compile(
    r"the budget (tokens|usd)Per(Hour|Day|Month) is used up: ([\d,.]+) of ([\d,.]+),"
    r" and the next call may (?:take|cost) ([\d,.]+)"
)
_SPANS = {"Hour": "an hour", "Day": "a day", "Month": "a month"}


class Remedy(NamedTuple):
    """A screen that mends the troubles which a pattern finds."""

    pattern: re.Pattern[str]
    path: str
    label: str
    right: Right


# The first that fits decides.
_REMEDIES = tuple(
    Remedy(re.compile(pattern), path, label, right)
    for pattern, path, label, right in (
        (r"demo model", "/setup", "Choose a model", Right.READ),
        (r"tools approve|waits for a decision|asks to be let in", "/inbox", "Decide", Right.DECIDE),
        (r"[A-Z]_(?:KEY|TOKEN|SECRET)\b|refuses the key|wrong key", "/keys", "Keys", Right.READ),
        (r"budget|spending", "/costs", "Budgets", Right.LOOK),
        (r"MCP server", "/tools", "Tools", Right.LOOK),
        (r"handed over", "/chats", "Chats", Right.READ),
        (r"^task |\btask '", "/tasks", "Tasks", Right.LOOK),
        (r"agents\.json", "/settings", "Settings", Right.READ),
        (r"disk|backup|journal|sandbox|jail", "/system", "System", Right.LOOK),
    )
)

_KEYS = tuple(one for one in _REMEDIES if one.path == "/keys")


def render_trouble(
    request: ScreenRequest, text: str, kind: NoteKind = "warn", *, line: int = 0
) -> h.Element:
    """Render a trouble with a link to where it is mended; ``line`` is one of agents.json."""
    remedy = next((one for one in _REMEDIES if one.pattern.search(text)), None)
    way: tuple[str, str] | None = None
    if line and remedy not in _KEYS and request.has_right(Right.READ):
        way = build_link("settings", line=line), f"Line {line}"
    elif remedy is not None and request.has_right(remedy.right):
        way = remedy.path, remedy.label
    return _render_line(explain_reason(_COMMAND.sub("", text) if way else text), kind, way)


def explain_reason(text: str) -> str:
    """Return why something waits or fails, without the numbers' riddle of a used budget."""
    return strip_terminal_codes(_BUDGET.sub(_explain_budget, text))


def _explain_budget(found: re.Match[str]) -> str:
    unit, span, spent, limit, wanted = found.groups()
    numbers = [float(one.rstrip(".,").replace(",", "")) for one in (spent, limit, wanted)]
    used, allowed, asked = (
        [figures.format_usd(one) for one in numbers]
        if unit == "usd"
        else [f"{figures.format_count(int(one))}{figures.FIXED}tokens" for one in numbers]
    )
    if numbers[2] > numbers[1]:
        return f"a call may need {asked}, and {allowed} {_SPANS[span]} are allowed"
    return f"{used} of {allowed} {_SPANS[span]} are used, and the next call may need {asked}"


def _render_line(text: str, kind: NoteKind, way: tuple[str, str] | None) -> h.Element:
    return h.div(class_="trouble")[
        render_note(text, kind=kind), render_link_button(way[1], way[0]) if way else None
    ]
