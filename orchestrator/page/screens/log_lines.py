"""The log of the daemon: its newest lines, by level, agent, turn and text."""

from collections.abc import Mapping, Sequence
from typing import Any

import htpy as h
import orjson

from orchestrator.control import protocol
from orchestrator.control.page_access import Right
from orchestrator.control.protocol import LogLines
from orchestrator.page.html.forms import filters, link
from orchestrator.page.html.outside_text import plain
from orchestrator.page.visit import Screen, Shown, Visit
from thinker.protocol.log_sentences import sentence

MOST = 500  # lines
LEVELS = ("debug", "info", "warning", "error", "critical")
FILTERS = (("level", "at least"), ("agent", "agent"), ("turn", "turn"), ("text", "contains"))
CLOCK = "%Y-%m-%d %H:%M:%S"


async def _body(visit: Visit) -> Shown:
    if visit.daemon is None:
        return h.p(class_="empty")["A journal without a daemon has no log."]
    found = await visit.daemon.ask(protocol.LOG_TAIL, None, LogLines)
    return draw(visit, found.lines)


def draw(visit: Visit, lines: Sequence[str]) -> h.Node:
    """Draw the newest lines that fit, the newest at the top."""
    events = [event for event in map(_event, lines) if event and _fits(visit, event)][-MOST:]
    return [
        filters(visit, FILTERS),
        h.ol(class_="calls log", reversed=True)[(_line(event) for event in reversed(events))]
        if events
        else h.p(class_="empty")["No line fits. Under systemd: journalctl --user -u orchestrator"],
        h.p(class_="soft")[
            f"{len(events)} of the newest {len(lines)} lines. Older ones: ",
            h.code["orchestrator logs"],
        ],
    ]


def _event(line: str) -> Mapping[str, Any] | None:
    try:
        found = orjson.loads(line)
    except orjson.JSONDecodeError:
        return {"event": line, "level": "info"} if line.strip() else None
    return found if isinstance(found, dict) else None


def _fits(visit: Visit, event: Mapping[str, Any]) -> bool:
    level = visit.query.get("level", "info").lower()
    least = LEVELS.index(level) if level in LEVELS else 1
    own = str(event.get("level", "info"))
    if (LEVELS.index(own) if own in LEVELS else 1) < least:
        return False
    for name, key in (("agent", "agent_id"), ("turn", "turn_id")):
        if visit.query.get(name, "") not in str(event.get(key, "")):
            return False
    text = visit.query.get("text", "").lower()
    return not text or text in str(event).lower()


def _line(event: Mapping[str, Any]) -> h.Element:
    kind = {"warning": "warn", "error": "bad", "critical": "bad"}.get(str(event.get("level")))
    turn = str(event.get("turn_id") or "")
    return h.li(class_=kind)[
        plain(sentence(event, clock=CLOCK)),
        [" ", h.a(href=link("turns", turn))["its turn"]] if turn else None,
    ]


SCREENS = (Screen("/logs", "Logs", Right.READ, _body, "Logs"),)
