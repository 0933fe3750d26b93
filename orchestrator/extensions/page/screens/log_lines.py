"""The daemon's newest log lines, by level, agent, turn and text."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

import htpy as h
import orjson

from orchestrator.control.roles import Right
from orchestrator.extensions.page.daemon_side import page_protocol
from orchestrator.extensions.page.daemon_side.page_protocol import LogLines
from orchestrator.extensions.page.html.forms import build_link, render_button
from orchestrator.extensions.page.html.outside_text import (
    show_hidden_characters,
    strip_terminal_codes,
)
from orchestrator.extensions.page.html.parts import render_blank, render_chips, render_link_button
from orchestrator.extensions.page.screen_request import (
    PageScreen,
    ScreenRequest,
    ScreenResult,
    Stamp,
    TitledContent,
)
from thinker.protocol.log_sentences import format_sentence

MAX_LINES = 500
LEVELS = ("debug", "info", "warning", "error", "critical")
# The levels of the filter, each with all that is worse.
CHIPS = {"debug": "everything", "info": "normal", "warning": "warnings", "error": "errors"}
DEFAULT = "info"
FILTERS = {"agent": "Agent", "turn": "Turn", "text": "Contains"}


class LogLine(NamedTuple):
    """A line of the log; ``at`` is when it was written, None if it does not say."""

    event: Mapping[str, Any]
    at: datetime | None


async def _show_log(request: ScreenRequest) -> ScreenResult:
    if request.daemon is None:
        return render_blank("A journal without a daemon has no log.", None, "logs")
    found = await request.daemon.ask_daemon(page_protocol.LOG_TAIL, None, LogLines)
    return render_log(request, found.lines)


def render_log(request: ScreenRequest, lines: Sequence[str]) -> TitledContent:
    """Render the newest matching lines, newest at the top."""
    events = [
        event for event in map(_parse_log_line, lines) if event and _matches_filters(request, event)
    ][-MAX_LINES:]
    shown = [LogLine(event, _find_time(event, request)) for event in reversed(events)]
    content = [
        _render_levels(request),
        _render_filters(request),
        h.ol(class_="log", reversed=True)[_render_lines(request, shown)]
        if shown
        else render_blank("No matching lines.", h.a(href="/logs")["Show all"], "logs"),
        h.p(class_="soft")[
            f"{len(events)} of the newest {len(lines)} lines. Older ones: ",
            h.code["orchestrator logs"],
        ],
    ]
    paused = _is_paused(request)
    return TitledContent(
        "Logs",
        content,
        lead="Paused" if paused else "What the daemon did, the newest first",
        actions=render_link_button(
            "Go on" if paused else "Pause", _build_link(request, pause=None if paused else "1")
        ),
    )


def _is_paused(request: ScreenRequest) -> bool:
    return bool(request.query.get("pause"))


async def _read_stamp(request: ScreenRequest) -> Stamp:
    """Return the stamp of the log; one that is paused does not change by itself."""
    return Stamp(later=None) if _is_paused(request) else Stamp()


def _render_lines(request: ScreenRequest, lines: Sequence[LogLine]) -> list[h.Node]:
    """Render lines under a heading for each day."""
    shown: list[h.Node] = []
    day = None
    for line in lines:
        if line.at is not None and line.at.date() != day:
            day = line.at.date()
            shown.append(h.li(class_="day")[f"{day:%A} {day.isoformat()}"])
        shown.append(_render_line(request, line))
    return shown


def _render_line(request: ScreenRequest, line: LogLine) -> h.Element:
    event = line.event
    turn, agent = str(event.get("turn_id") or ""), str(event.get("agent_id") or "")
    level = str(event.get("level") or DEFAULT)
    plain = {**event, "level": DEFAULT, "turn_id": ""}  # both stand beside the sentence
    sentence = format_sentence(plain, clock="").removeprefix("-").strip()  # "-": without a time
    said = strip_terminal_codes(sentence.removeprefix(f"{agent}: "))
    return h.li(class_=level if level in LEVELS else DEFAULT, title=level)[
        h.time[f"{line.at:%H:%M:%S}" if line.at else ""],
        h.span[
            [
                h.a(href=_build_link(request, agent=agent), class_="by")[
                    h.b[show_hidden_characters(agent)]
                ],
                " ",
            ]
            if agent
            else None,
            said,
            [" ", h.a(href=build_link("turns", turn), class_="quiet")["turn ▸"]] if turn else None,
        ],
    ]


def _render_levels(request: ScreenRequest) -> h.Node:
    chosen = request.query.get("level", DEFAULT).lower()
    return render_chips(
        (
            (
                words,
                _build_link(request, level=None if level == DEFAULT else level),
                level == chosen,
            )
            for level, words in CHIPS.items()
        ),
        "Level",
    )


def _render_filters(request: ScreenRequest) -> h.Node:
    return h.form(method="get", class_="filters", role="search")[
        (
            h.input(type="hidden", name=name, value=request.query[name])
            for name in ("level", "pause")
            if request.query.get(name)
        ),
        (
            h.label[
                h.span[label],
                h.input(name=name, value=request.query.get(name, ""), maxlength="200"),
            ]
            for name, label in FILTERS.items()
        ),
        render_button("Show"),
    ]


def _build_link(request: ScreenRequest, **changed: str | None) -> str:
    """Return the address of the log with some filters changed."""
    query = {name: request.query.get(name) for name in ("level", "pause", *FILTERS)}
    return build_link("logs", **{**query, **changed})


def _parse_log_line(line: str) -> Mapping[str, Any] | None:
    try:
        found = orjson.loads(line)
    except orjson.JSONDecodeError:
        return {"event": line, "level": DEFAULT} if line.strip() else None
    return found if isinstance(found, dict) else None


def _find_time(event: Mapping[str, Any], request: ScreenRequest) -> datetime | None:
    try:
        found = datetime.fromisoformat(str(event.get("timestamp")))
    except ValueError:
        return None
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone(request.zone)


def _matches_filters(request: ScreenRequest, event: Mapping[str, Any]) -> bool:
    level = request.query.get("level", DEFAULT).lower()
    least = LEVELS.index(level) if level in LEVELS else LEVELS.index(DEFAULT)
    own = str(event.get("level", DEFAULT))
    if (LEVELS.index(own) if own in LEVELS else LEVELS.index(DEFAULT)) < least:
        return False
    for name, key in (("agent", "agent_id"), ("turn", "turn_id")):
        if request.query.get(name, "") not in str(event.get(key, "")):
            return False
    text = request.query.get("text", "").lower()
    return not text or text in str(event).lower()


SCREENS = (PageScreen("/logs", "Logs", Right.READ, _show_log, "Logs", stamp=_read_stamp),)
