"""The daemon's newest log lines, by level, agent, turn and text."""

from collections.abc import Mapping, Sequence
from typing import Any

import htpy as h
import orjson

from orchestrator.control.roles import Right
from orchestrator.extensions.page.daemon_side import page_protocol
from orchestrator.extensions.page.daemon_side.page_protocol import LogLines
from orchestrator.extensions.page.html.forms import build_link, render_filters
from orchestrator.extensions.page.html.outside_text import strip_terminal_codes
from orchestrator.extensions.page.screen_request import PageScreen, ScreenRequest, ScreenResult
from thinker.protocol.log_sentences import format_sentence

MAX_LINES = 500
LEVELS = ("debug", "info", "warning", "error", "critical")
FILTERS = (("level", "at least"), ("agent", "agent"), ("turn", "turn"), ("text", "contains"))
CLOCK = "%Y-%m-%d %H:%M:%S"


async def _show_log(request: ScreenRequest) -> ScreenResult:
    if request.daemon is None:
        return h.p(class_="empty")["A journal without a daemon has no log."]
    found = await request.daemon.ask_daemon(page_protocol.LOG_TAIL, None, LogLines)
    return render_log(request, found.lines)


def render_log(request: ScreenRequest, lines: Sequence[str]) -> h.Node:
    """Render the newest matching lines, newest at the top."""
    events = [
        event for event in map(_parse_log_line, lines) if event and _matches_filters(request, event)
    ][-MAX_LINES:]
    return [
        render_filters(request, FILTERS),
        h.ol(class_="calls log", reversed=True)[
            (_render_log_line(event) for event in reversed(events))
        ]
        if events
        else h.p(class_="empty")[
            "No matching lines. Under systemd: journalctl --user -u orchestrator"
        ],
        h.p(class_="soft")[
            f"{len(events)} of the newest {len(lines)} lines. Older ones: ",
            h.code["orchestrator logs"],
        ],
    ]


def _parse_log_line(line: str) -> Mapping[str, Any] | None:
    try:
        found = orjson.loads(line)
    except orjson.JSONDecodeError:
        return {"event": line, "level": "info"} if line.strip() else None
    return found if isinstance(found, dict) else None


def _matches_filters(request: ScreenRequest, event: Mapping[str, Any]) -> bool:
    level = request.query.get("level", "info").lower()
    least = LEVELS.index(level) if level in LEVELS else 1
    own = str(event.get("level", "info"))
    if (LEVELS.index(own) if own in LEVELS else 1) < least:
        return False
    for name, key in (("agent", "agent_id"), ("turn", "turn_id")):
        if request.query.get(name, "") not in str(event.get(key, "")):
            return False
    text = request.query.get("text", "").lower()
    return not text or text in str(event).lower()


def _render_log_line(event: Mapping[str, Any]) -> h.Element:
    kind = {"warning": "warn", "error": "bad", "critical": "bad"}.get(str(event.get("level")))
    turn = str(event.get("turn_id") or "")
    return h.li(class_=kind)[
        strip_terminal_codes(format_sentence(event, clock=CLOCK)),
        [" ", h.a(href=build_link("turns", turn))["its turn"]] if turn else None,
    ]


SCREENS = (PageScreen("/logs", "Logs", Right.READ, _show_log, "Logs"),)
