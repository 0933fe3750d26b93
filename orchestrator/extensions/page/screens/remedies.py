"""Troubles in people's words, each with the screen where it can be solved."""

import re
from collections.abc import Iterator, Sequence
from pathlib import PurePath
from typing import NamedTuple

import htpy as h

from orchestrator.control.protocol import StatusReport
from orchestrator.control.roles import Right
from orchestrator.extensions.page.html import figures
from orchestrator.extensions.page.html.forms import build_link
from orchestrator.extensions.page.html.outside_text import (
    show_hidden_characters,
    strip_terminal_codes,
)
from orchestrator.extensions.page.html.vocabulary import NoteKind, render_note
from orchestrator.extensions.page.screen_request import ScreenRequest

# The end of a text that names the command to run: here a link takes its place.
_COMMAND = re.compile(
    r"[;,.]?\s*(?:put \w+=\S* into \S+ |check it, |install it, )?(?:and |then )*"
    r"(?:run|see):? orchestrator [a-z -]+.*$",
    re.DOTALL,
)
# The reason of a pause by a budget, as `spending.budgets.find_exceeded_limit` writes it.
_BUDGET = re.compile(
    r"the next call may (?:take|cost) \$?([\d,.]+)(?: tokens)?, and \$?(-?[\d,.]+) of \$?([\d,.]+)"
    r" are left of the (?:shared )?budget (tokens|usd)Per(Hour|Day|Month)"
)
MAX_TROUBLES = 4  # that are shown at once
_STOPPED = re.compile(r"agent '([^']+)' does not run \(\w+\): (?:agent '\1' )?")
_SPANS = {"Hour": "this hour", "Day": "today", "Month": "this month"}
# What turns of an agent did without, as the hints of the status and the doctor say it.
_LACK = re.compile(r"agent '([^']+)' answers with less: (.+)", re.DOTALL)
# What is left out where the model reads too little at once.
_WINDOW = re.compile(r"do not fit|left out of the prompt|the server read|shortened of|left out and")


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
        (r"orchestrator (?:approvals|pair approve|dlq)\b", "/inbox", "Inbox", Right.DECIDE),
        (r"orchestrator (?:pair|dashboard|sessions)\b", "/people", "People", Right.READ),
        (r"orchestrator (?:agent|resume|pause)", "/agents", "Agents", Right.LOOK),
        (r"orchestrator memory\b", "/memory", "Memory", Right.READ),
        (r"orchestrator logs\b", "/logs", "Logs", Right.READ),
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
        said = problem.message
        if problem.severity == "error":
            file = PurePath(problem.file).name
            said = f"{file} has a mistake, so the version before it still runs: {said}"
        yield render_trouble(request, said, kind, line=problem.line)
    demo = [hint for hint in report.hints if "demo model" in hint]
    if demo and not is_demo(report):
        others = f", and {len(demo) - 1} more" if len(demo) > 1 else ""
        yield render_trouble(request, f"{demo[0].partition(';')[0]}{others}")
    hints = [one for one in report.hints if one not in demo and "waits for a decision" not in one]
    yield from list_hints(request, hints)


def list_hints(
    request: ScreenRequest, hints: Sequence[str], kind: NoteKind = "warn"
) -> Iterator[h.Node]:
    """Yield hints, and for each agent whose turns lacked something one note."""
    lacking: dict[str, list[str]] = {}
    for hint in hints:
        found = _LACK.fullmatch(hint)
        if found is None:
            yield render_trouble(request, hint, kind)
        else:
            lacking.setdefault(found[1], []).append(found[2])
    for agent_id, lacks in lacking.items():
        yield render_lacks(agent_id, lacks)


def render_lacks(agent_id: str, lacks: Sequence[str], when: str = "lately") -> h.Node:
    """Render what turns of an agent did without: one sentence, what to do, and the details."""
    narrow = any(_WINDOW.search(one) for one in lacks)
    reads = "; its model reads less at once than the agent needs" if narrow else ""
    label = "Choose another model, or set how much it reads" if narrow else "See the agent"
    return render_note(
        f"{show_hidden_characters(agent_id)} answered with less {when}{reads}. ",
        h.a(href=build_link("agents", agent_id))[f"{label} ▸"],
        h.details[
            h.summary["What was left out"],
            h.ul(class_="items")[(h.li[strip_terminal_codes(one)] for one in lacks)],
        ],
        kind="warn",
    )


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
    wanted, left, limit, unit, span = found.groups()
    numbers = [float(one.rstrip(".,").replace(",", "")) for one in (wanted, left, limit)]
    numbers[1] = max(0.0, numbers[1])  # spent more than was allowed
    asked, rest, allowed = (
        [figures.format_usd(one) for one in numbers]
        if unit == "usd"
        else [f"{figures.format_count(int(one))}{figures.FIXED}tokens" for one in numbers]
    )
    verb = "may cost" if unit == "usd" else "may take"
    return f"the next call {verb} {asked}; only {rest} of {allowed} is left {_SPANS[span]}"


def _render_line(text: str, kind: NoteKind, way: tuple[str, str] | None) -> h.Element:
    link = [" ", h.a(href=way[0])[f"{way[1]} ▸"]] if way else None
    return render_note(text, link, kind=kind)
