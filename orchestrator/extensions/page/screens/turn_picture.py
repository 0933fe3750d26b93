"""The time of a turn as bars below each other, to one scale."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import htpy as h

from orchestrator.extensions.page.html import figures, svg
from orchestrator.extensions.page.html.outside_text import (
    shorten_text,
    show_hidden_characters,
    strip_terminal_codes,
)
from orchestrator.extensions.page.reads.turn_timeline import TimelineBar, TimelineMark, TurnTimeline

ROW = 24  # pixels of a line
EDGE = 88  # percent of the width from which a text stands before its place
MIN_GAP_MS, FOLDED_MS = 5000, 400  # the idle time of a folded gap, and its drawn length
MAX_ROWS = 200  # above it calls of one tool are one line
TICKS = 4  # at most, beside zero
KINDS = {
    "queue": "waiting in line",
    "wake": "waking the agent",
    "model": "the model",
    "person": "waiting for a person",
    "send": "sending",
    "retry": "waiting to ask again",
}


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

    def find_instant(self, place: float) -> float:
        """Return the instant at a position, which `find_place` maps to it."""
        before = self.knots[0]
        for knot in self.knots[1:]:
            if place <= knot[1]:
                whole = max(1e-9, knot[1] - before[1])
                return before[0] + (place - before[1]) / whole * (knot[0] - before[0])
            before = knot
        return before[0]

    def find_share(self, at: float) -> float:
        """Return the position of an instant in percent of the length."""
        return 100 * self.find_place(at) / self.length

    @property
    def length(self) -> float:
        return max(1.0, self.knots[-1][1])


def render_picture(found: TurnTimeline) -> h.Node:
    """Render the bars of a turn under an axis; a bar leads to its step."""
    bars = _merge_tool_bars(found.bars) if len(found.bars) > MAX_ROWS else found.bars
    if not bars:
        return h.p(class_="empty")["No steps yet."]
    scale = build_time_scale(bars, found.came)
    ticks = list(_list_ticks(scale, found.came))
    lines = [svg_line(share, "axis") for share, _ in ticks]
    lines += [svg_line(scale.find_share(mark.at), "death") for mark in found.marks]
    kinds = {bar.kind: KINDS.get(bar.kind, "a tool") for bar in bars}
    if any(bar.failed for bar in bars):
        kinds["failed"] = "no result"
    return [
        svg.render_kinds(kinds),
        h.ol(class_="waterfall")[
            _render_axis(scale, ticks),
            (_render_row(bar, scale, found.came, lines) for bar in bars),
        ],
        h.ul(class_="calls")[(_render_mark(mark, found.came) for mark in found.marks)]
        if found.marks
        else None,
    ]


def svg_line(share: float, kind: str) -> h.Element:
    """Render a vertical line at ``share`` percent of the width."""
    place = f"{share:.2f}%"
    return h.line(class_=kind, x1=place, x2=place, y1="0", y2="100%")


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


def _list_ticks(scale: TimeScale, came: int) -> Iterator[tuple[float, str]]:
    """Yield round places in percent with the time since the turn came, none in a folded gap."""
    for place in svg.choose_ticks(scale.length, TICKS):
        if not any(begin < place < begin + FOLDED_MS for begin, _ in scale.folds):
            words = figures.format_span(round(scale.find_instant(place)) - came)
            yield 100 * place / scale.length, words.replace(".00 s", " s") if place else "0"


def _render_axis(scale: TimeScale, ticks: Sequence[tuple[float, str]]) -> h.Element:
    height = 16 * (2 if scale.folds else 1)
    middles = ((100 * (place + FOLDED_MS / 2) / scale.length, ms) for place, ms in scale.folds)
    return h.li(class_="scale", aria_hidden="true")[
        h.svg(width="100%", height=str(height))[
            (_render_text(share, 12, words) for share, words in ticks),
            (_render_text(share, 28, f"⋯ {figures.format_span(ms)} ⋯") for share, ms in middles),
        ]
    ]


def _render_text(share: float, y: int, words: str) -> h.Element:
    anchor = "end" if share > EDGE else None
    return h.text(x=f"{share:.2f}%", y=str(y), text_anchor=anchor)[words]


def _render_row(
    bar: TimelineBar, scale: TimeScale, came: int, lines: Sequence[h.Element]
) -> h.Element:
    name = show_hidden_characters(bar.name)
    took = figures.format_span(bar.ended - bar.began) if bar.measured else "not measured"
    took += " so far" if bar.open else ""
    about = "" if bar.about == took else shorten_text(bar.about, 80)
    after = figures.format_span(bar.began - came)
    content = [
        h.span(class_="name")[name],
        h.svg(width="100%", height=str(ROW), aria_hidden="true")[lines, _render_bar(bar, scale)],
        h.span(class_="took")[took],
        h.span(class_="about", title=about or None)[about],
    ]
    words = f"{KINDS.get(bar.kind, 'a tool')}, {took}, after {after}"
    return h.li[
        h.div(title=words)[content]
        if bar.step is None
        else h.a(href=f"#step-{bar.step}", title=words)[content]
    ]


def _render_bar(bar: TimelineBar, scale: TimeScale) -> h.Node:
    left, right = scale.find_share(bar.began), scale.find_share(bar.ended)
    kind = " ".join(
        [bar.kind, *(["failed"] if bar.failed else []), *([] if bar.measured else ["unmeasured"])]
    )
    place = {"class_": kind, "y": "5", "height": str(ROW - 10), "rx": "2"}
    # A bar of almost no time is still seen, also at the right edge.
    start = f"{min(left, 99.7):.2f}%"
    return [
        h.rect(x=f"{left:.2f}%", width=f"{max(0.0, right - left):.2f}%", **place),
        h.rect(x=start, width="2", **place),
        None if bar.first is None else svg_line(scale.find_share(bar.first), "word"),
    ]


def _render_mark(mark: TimelineMark, came: int) -> h.Element:
    after = figures.format_span(mark.at - came)
    return h.li(class_="bad")[f"✕ after {after}: {strip_terminal_codes(mark.text)}"]


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
            about=figures.format_plural(counts[key], "time"),
            first=None,
        )
    return list(merged.values())
