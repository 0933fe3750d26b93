"""Troubles in people's words, each with the screen where it can be solved."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import htpy as h

from orchestrator.control.protocol import StatusReport
from orchestrator.control.roles import Right
from orchestrator.extensions.page.html import figures
from orchestrator.extensions.page.html.forms import build_link
from orchestrator.extensions.page.html.outside_text import strip_terminal_codes
from orchestrator.extensions.page.html.parts import NoteKind, render_note
from orchestrator.extensions.page.screen_request import ScreenRequest

# The end of a text that names the command to run: here a link takes its place.
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
MAX_TROUBLES = 4  # that are shown at once
_STOPPED = re.compile(r"agent '([^']+)' does not run \(\w+\): (?:agent '\1' )?")
_SPANS = {"Hour": "an hour", "Day": "a day", "Month": "a month"}


class Remedy(NamedTuple):
    """A screen that solves the troubles which a pattern finds."""

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
    """Render a trouble with a link to where it is solved; ``line`` is one of agents.json."""
    remedy = next((one for one in _REMEDIES if one.pattern.search(text)), None)
    way: tuple[str, str] | None = None
    if line and remedy not in _KEYS and request.has_right(Right.READ):
        way = build_link("texts", "agents.json", line=line), f"Line {line}"
    elif remedy is not None and request.has_right(remedy.right):
        way = remedy.path, remedy.label
    return _render_line(explain_reason(_COMMAND.sub("", text) if way else text), kind, way)


def explain_reason(text: str) -> str:
    """Return why something waits or fails, in words that people use."""
    plain = _STOPPED.sub(r"agent '\1' does not run: ", text)
    return strip_terminal_codes(_BUDGET.sub(_explain_budget, plain))


def shorten_reason(text: str, agent_id: str) -> str:
    """Return the reason beside an agent's state, without its name and the command to run."""
    plain = _COMMAND.sub("", text).removeprefix(f"agent '{agent_id}' ")
    return explain_reason(plain.removeprefix("cannot answer, because "))


def list_troubles(request: ScreenRequest, report: StatusReport) -> Iterator[h.Node]:
    """Yield what is wrong, problems first; what the inbox says is left out."""
    for problem in sorted(report.config_errors, key=lambda one: one.severity == "warning"):
        kind: NoteKind = "warn" if problem.severity == "warning" else "bad"
        yield render_trouble(request, problem.message, kind, line=problem.line)
    demo = [hint for hint in report.hints if "demo model" in hint]
    if demo and not is_demo(report):
        others = f", and {len(demo) - 1} more" if len(demo) > 1 else ""
        yield render_trouble(request, f"{demo[0].partition(';')[0]}{others}")
    for hint in report.hints:
        if hint not in demo and "waits for a decision" not in hint:
            yield render_trouble(request, hint)


def render_troubles(lines: Sequence[h.Node], first: h.Node = None) -> h.Node:
    """Render what to look at, the first lines open; nothing without any."""
    if not lines and first is None:
        return None
    more = lines[MAX_TROUBLES:]
    return h.section(class_="panel urgent")[
        h.div(class_="top")[h.h2["Look at this"]],
        first,
        lines[:MAX_TROUBLES],
        h.details[h.summary[f"{len(more)} more"], more] if more else None,
    ]


def is_demo(report: StatusReport) -> bool:
    """Return whether no agent has a model yet; the first steps say what that means."""
    return all(agent.provider == "demo" for agent in report.agents if not agent.parent)


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
    link = [" ", h.a(href=way[0])[f"{way[1]} ▸"]] if way else None
    return render_note(text, link, kind=kind)
