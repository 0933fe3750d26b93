"""A message as a waterfall: durations, costs, and incidents."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import htpy as h
import orjson
from starlette.responses import RedirectResponse

from orchestrator.control.roles import Right
from orchestrator.extensions.page.html import figures
from orchestrator.extensions.page.html.forms import build_link
from orchestrator.extensions.page.html.outside_text import (
    shorten_text,
    show_hidden_characters,
    strip_terminal_codes,
)
from orchestrator.extensions.page.html.parts import render_facts, render_panel
from orchestrator.extensions.page.html.tables import TableColumn, render_table
from orchestrator.extensions.page.reads import stamps, turn_timeline
from orchestrator.extensions.page.reads.turn_timeline import TimelineBar, TimelineStep, TurnTimeline
from orchestrator.extensions.page.screen_request import PageScreen, ScreenRequest, ScreenResult
from orchestrator.extensions.page.screens.turn_table import describe_turn_marks, format_turn_tokens
from thinker.protocol.names import format_chat_name, format_turn_name

WIDTH, NAMES, ROW = 900, 170, 24  # of the picture, of its names, of a line
MIN_GAP_MS, FOLDED_MS = 5000, 400  # the idle time of a folded gap, and its drawn length
MAX_ROWS = 200  # above it calls of one tool are one line
KINDS = {
    "queue": "waiting in line",
    "wake": "waking the agent",
    "model": "the model",
    "person": "waiting for a person",
    "send": "sending",
    "retry": "waiting to ask again",
}
LETTER = 6.2  # about the width of a letter of the picture


class TimeScale(NamedTuple):
    """Maps instants to positions: work to scale, long gaps shortened."""

    knots: list[tuple[int, float]]  # an instant in milliseconds, and its place in them
    folds: list[tuple[float, int]]  # the place of a gap, and how long it was

    def find_place(self, at: float) -> float:
        """Return the position of an instant, in displayed milliseconds."""
        before = self.knots[0]
        for knot in self.knots[1:]:
            if at <= knot[0]:
                whole = max(1, knot[0] - before[0])
                return before[1] + (at - before[0]) / whole * (knot[1] - before[1])
            before = knot
        return before[1]

    @property
    def length(self) -> float:
        return max(1.0, self.knots[-1][1])


async def _show_turn(request: ScreenRequest) -> ScreenResult:
    name = request.path["turn"]
    found = await request.journal(turn_timeline.find_turn_timeline, name, request.now)
    if found is None:
        whole = (
            await request.journal(turn_timeline.find_newest_turn, name)
            if len(name) >= 4  # noqa: PLR2004 - shorter fits too many
            else None
        )
        if whole is not None:
            return RedirectResponse(build_link("turns", whole), 303)
        return h.p(class_="empty")[
            "Turn not found. Turns are kept for 90 days (retention.turnDays in agents.json)."
        ]
    return render_turn(request, found)


async def _redirect_to_turn(request: ScreenRequest) -> ScreenResult:
    row = request.path["row"]
    turn = (
        await request.journal(turn_timeline.find_turn_of_message, int(row))
        if row.isdigit()
        else None
    )
    if turn is None:
        return h.p(class_="empty")[
            "This message has no turn: it waits, was refused, or was deleted."
        ]
    return RedirectResponse(build_link("turns", turn), 303)


def render_turn(request: ScreenRequest, found: TurnTimeline) -> h.Node:
    """Render the screen."""
    turn, reads = found.turn, request.has_right(Right.READ)
    around = ((found.older, "◂ older in this chat"), (found.newer, "newer ▸"))
    return [
        h.p(class_="lead")[describe_turn(found)],
        render_facts(
            {
                "state": figures.render_turn_outcome(turn.state, turn.stop_reason),
                "agent": show_hidden_characters(turn.agent_id),
                "chat": _render_chat_link(request, found),
                "message": None if found.message is None else str(found.message),
                "began": figures.render_moment(turn.began, request.zone),
                "tokens": format_turn_tokens(turn),
                "cost": figures.format_usd(turn.usd),
                "marks": ", ".join(describe_turn_marks(turn)) or None,
            }
        ),
        h.p(class_="problem")[strip_terminal_codes(found.problem)] if found.problem else None,
        (
            h.p(class_="problem")[f"With less: {strip_terminal_codes(str(one))}"]
            for one in found.degraded
        ),
        h.p(class_="said")[shorten_text(turn.asked, 300)] if reads else None,
        h.p[
            [
                [h.a(href=build_link("turns", other))[label], " · "]
                for other, label in around
                if other
            ],
            [h.a(href=build_link("turns", turn.id, "prompt"))["what the model saw"], " · "]
            if reads
            else None,
            h.code[f"orchestrator trace {format_turn_name(turn.id)}"],
        ],
        render_panel("In time", _render_waterfall(found)),
        render_panel("Steps", (_render_step(request, found, step) for step in found.steps))
        if found.steps
        else None,
    ]


def describe_turn(found: TurnTimeline) -> str:
    """Summarize in a sentence where the time went, and the cost."""
    spent: Counter[str] = Counter()
    for bar in found.bars:
        name = (
            show_hidden_characters(bar.name)
            if bar.kind == "tool"
            else KINDS.get(bar.kind, bar.kind)
        )
        spent[name] += bar.ended - bar.began
    whole = max((bar.ended for bar in found.bars), default=found.came) - found.came
    parts = [
        f"{figures.format_span(ms)} {_format_part_name(name)}"
        for name, ms in spent.most_common(4)
        if ms >= 1
    ]
    cost = figures.format_usd(found.turn.usd)
    shares = ", ".join(parts) or "nothing took long"
    return f"{figures.format_span(whole)} in all: {shares}. Cost: {cost}."


def _format_part_name(name: str) -> str:
    return name if name in KINDS.values() and name != "the model" else f"in {name}"


def _render_waterfall(found: TurnTimeline) -> h.Node:
    bars = _merge_tool_bars(found.bars) if len(found.bars) > MAX_ROWS else found.bars
    if not bars:
        return h.p(class_="empty")["No steps yet."]
    scale = build_time_scale(bars, found.came)
    height = ROW * (len(bars) + 1) + 14 * len(found.marks) + 8
    span = figures.format_span(bars[-1].ended - found.came)
    words = f"{figures.format_plural(len(bars), 'part')} over {span}"
    return [
        h.div(class_="scroll waterfall", tabindex="0", role="region", aria_label="Waterfall")[
            h.svg(viewBox=f"0 0 {WIDTH} {height}", role="img", aria_label=words)[
                (_render_bar(bar, index, scale, found.came) for index, bar in enumerate(bars)),
                (
                    h.text(x=_format_x(scale, at), y=str(ROW * len(bars) + 16))[
                        f"⋯ {figures.format_span(ms)} ⋯"
                    ]
                    for at, ms in ((at + FOLDED_MS / 3, ms) for at, ms in scale.folds)
                ),
                (
                    [
                        h.line(
                            class_="death",
                            x1=_format_x(scale, scale.find_place(mark.at)),
                            x2=_format_x(scale, scale.find_place(mark.at)),
                            y1="0",
                            y2=str(ROW * len(bars)),
                        ),
                        h.text(
                            x=str(NAMES),
                            y=str(ROW * (len(bars) + 1) + 14 * index + 12),
                            class_="bad",
                        )[f"✕ after {figures.format_span(mark.at - found.came)}: {mark.text}"],
                    ]
                    for index, mark in enumerate(found.marks)
                ),
            ]
        ],
        h.details[
            h.summary["The same as a table"],
            render_table(
                "Parts",
                ("Part", "What", TableColumn("After", "number"), TableColumn("Took", "number"), ""),
                (
                    (
                        show_hidden_characters(bar.name),
                        KINDS.get(bar.kind, "a tool"),
                        figures.format_span(bar.began - found.came),
                        figures.format_span(bar.ended - bar.began)
                        if bar.measured
                        else "not measured",
                        strip_terminal_codes(bar.about),
                    )
                    for bar in bars
                ),
            ),
            h.ul[
                (
                    h.li[f"after {figures.format_span(m.at - found.came)}: {m.text}"]
                    for m in found.marks
                )
            ]
            if found.marks
            else None,
        ],
    ]


def _render_bar(bar: TimelineBar, index: int, scale: TimeScale, came: int) -> h.Node:
    left, right = scale.find_place(bar.began), scale.find_place(bar.ended)
    y = ROW * index
    kind = " ".join(
        [bar.kind, *(["failed"] if bar.failed else []), *([] if bar.measured else ["unmeasured"])]
    )
    took = figures.format_span(bar.ended - bar.began) if bar.measured else "not measured"
    words = f"{took}{' so far' if bar.open else ''} {shorten_text(bar.about, 60)}".strip()
    x, end = float(_format_x(scale, left)), float(_format_x(scale, right))
    return [
        h.text(x="0", y=str(y + 16))[shorten_text(bar.name, 24)],
        h.rect(
            class_=kind,
            x=f"{x:.1f}",
            y=str(y + 5),
            width=f"{max(2.0, end - x):.1f}",
            height="14",
            rx="2",
        )[
            h.title[
                f"{show_hidden_characters(bar.name)}: {words},"
                f" after {figures.format_span(bar.began - came)}"
            ]
        ],
        _render_bar_label(words, x, end, y + 16),
    ]


def _render_bar_label(words: str, x: float, end: float, y: int) -> h.Element:
    """Render a bar's label after the bar, or else inside or before the bar."""
    width = LETTER * len(words)
    if end + width < WIDTH:
        return h.text(x=f"{end + 4:.1f}", y=str(y))[words]
    if width < end - x - 8:
        return h.text(x=f"{x + 4:.1f}", y=str(y), class_="inside")[words]
    if x - width > NAMES:
        return h.text(x=f"{x - 4:.1f}", y=str(y), text_anchor="end")[words]
    return h.text(x=f"{WIDTH - 4}", y=str(y), text_anchor="end", class_="over")[words]


def _format_x(scale: TimeScale, place: float) -> str:
    return f"{NAMES + (WIDTH - NAMES - 8) * place / scale.length:.1f}"


def build_time_scale(bars: Sequence[TimelineBar], came: int) -> TimeScale:
    """Fold gaps longer than `MIN_GAP_MS` without work: waits for people, and idle time."""
    work = sorted(
        (bar.began, bar.ended)
        for bar in bars
        if bar.kind != "person" or bar.ended - bar.began < MIN_GAP_MS
    )
    end = max(bar.ended for bar in bars)
    knots, folds, place, at = [(came, 0.0)], [], 0.0, came
    for began, ended in [*work, (end, end)]:
        if began - at > MIN_GAP_MS:
            folds.append((place, began - at))
            place += FOLDED_MS
            knots.append((began, place))
        elif began > at:
            place += began - at
            knots.append((began, place))
        at = max(at, began)
        if ended > at:
            place += ended - at
            at = ended
            knots.append((at, place))
    return TimeScale(knots, folds)


def _merge_tool_bars(bars: Sequence[TimelineBar]) -> list[TimelineBar]:
    """Merge the calls of each tool into one line, from the first to the last."""
    merged: dict[tuple[str, str], TimelineBar] = {}
    counts: Counter[tuple[str, str]] = Counter()
    for bar in bars:
        key = bar.kind, bar.name
        counts[key] += 1
        known = merged.get(key, bar)
        merged[key] = known._replace(
            ended=max(known.ended, bar.ended),
            failed=known.failed or bar.failed,
            about=f"{counts[key]} times",
        )
    return list(merged.values())


def _render_chat_link(request: ScreenRequest, found: TurnTimeline) -> h.Node:
    name = shorten_text(format_chat_name(found.turn.chat_key), 60)
    own = found.turn.chat_key.startswith("web/")
    if not (request.has_right(Right.READ) and (own or request.has_right(Right.CHAT))):
        return name
    return h.a(href=f"/chats/{found.turn.chat_key}")[name]


def _render_step(request: ScreenRequest, found: TurnTimeline, step: TimelineStep) -> h.Element:
    reads = request.has_right(Right.READ)
    took = None
    if step.call_timing is not None:
        took = figures.format_span(step.call_timing.ended - step.call_timing.began)
    elif step.began is not None and step.ended is not None:
        took = figures.format_span(step.ended - step.began)
    return h.details(id=f"step-{step.seq}", open=step.state in ("failed", "unknown"))[
        h.summary[
            f"{step.seq} · {'asked the model' if step.kind == 'model' else 'called'} ",
            h.b[show_hidden_characters(step.name)],
            " ",
            figures.render_call_state(step.state),
            f" {took or ''}",
        ],
        render_facts(dict(_list_step_facts(found, step))),
        [
            h.pre[show_hidden_characters(step.arguments)] if step.arguments else None,
            h.pre[strip_terminal_codes(_format_step_result(step))] if step.result else None,
        ]
        if reads
        else h.p(class_="soft")["Texts are for operators."],
    ]


def _list_step_facts(found: TurnTimeline, step: TimelineStep) -> Iterator[tuple[str, h.Node]]:
    if step.kind == "model":
        yield from _list_timing_facts(step)
    else:
        yield "class", step.side_effect.replace("_", " ")
    cost = found.costs.get(step.seq)
    if cost is not None:
        cached = f", {figures.format_count(cost.cached)} cached" if cost.cached else ""
        used = (
            f"{figures.format_count(cost.prompt)} + {figures.format_count(cost.completion)}{cached}"
        )
        yield "tokens", used
        yield "cost", figures.format_usd(cost.usd)
    for name, value in (("key of repetition", step.idem_key), ("request", step.request_id)):
        if value:
            yield name, show_hidden_characters(value)
    verdict = found.verdicts.get(step.seq)
    if verdict is not None:
        word = "it happened" if verdict.happened else "it did not happen"
        yield "verdict", f"{word}, says {show_hidden_characters(verdict.by_user)}"
    asked = found.approvals.get(step.seq)
    if asked is not None:
        by = f" by {show_hidden_characters(asked.by_user)}" if asked.by_user else ""
        yield "approval", f"{asked.state}{by}: {strip_terminal_codes(asked.note or asked.reason)}"


def _list_timing_facts(step: TimelineStep) -> Iterator[tuple[str, h.Node]]:
    timing = step.call_timing
    if timing is None:
        yield "time", "not recorded: older than this measurement"
        return
    if timing.first is not None:
        yield "first word", figures.format_span(timing.first - timing.began)
    if timing.effort:
        yield "effort", timing.effort
    if timing.sent:
        yield "sent, got", f"{figures.format_size(timing.sent)}, {figures.format_size(timing.got)}"
    for number, attempt in enumerate(timing.attempts, 1):
        if attempt.error:
            yield (
                f"attempt {number}",
                f"{show_hidden_characters(attempt.model)}: {strip_terminal_codes(attempt.error)}",
            )


def _format_step_result(step: TimelineStep) -> str:
    """Return a step's result: a model's text and calls, or a tool's result."""
    try:
        body = orjson.loads(step.result or "null")
    except orjson.JSONDecodeError:  # it was cut
        return step.result or ""
    if isinstance(body, dict) and isinstance(body.get("content"), str):
        calls = [str(call.get("name")) for call in body.get("tool_calls") or ()]
        return "\n\n".join(filter(None, [str(body["content"]), ", ".join(calls)]))
    return step.result or ""


SCREENS = (
    PageScreen(
        "/turns/{turn}", "One turn", Right.LOOK, _show_turn, "Turns", stamp=stamps.read_turn
    ),
    PageScreen("/m/{row}", "One message", Right.LOOK, _redirect_to_turn, "Turns"),
)
