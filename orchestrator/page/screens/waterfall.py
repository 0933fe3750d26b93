"""One message as a waterfall: where its time went, what it cost, what happened on the way."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import htpy as h
import orjson
from starlette.responses import RedirectResponse

from orchestrator.control.page_access import Right
from orchestrator.journal.inspect import turn_course
from orchestrator.journal.inspect.turn_course import CourseBar, CourseStep, TurnCourse
from orchestrator.page.html import figures
from orchestrator.page.html.forms import link
from orchestrator.page.html.outside_text import plain, short, visible
from orchestrator.page.html.tables import facts, panel, table
from orchestrator.page.screens.turn_table import marks, tokens
from orchestrator.page.visit import Screen, Shown, Visit
from thinker.protocol.names import chat_name, turn_name

WIDTH, NAMES, ROW = 900, 170, 24  # of the picture, of its names, of a line
GAP, FOLDED = 5000, 400  # milliseconds without work that are folded, and how long they then look
MOST_ROWS = 200  # above it calls of one tool are one line
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
    """Where instants are: each span of work as it is, each long gap as a short one."""

    knots: list[tuple[int, float]]  # an instant in milliseconds, and its place in them
    folds: list[tuple[float, int]]  # the place of a gap, and how long it was

    def place(self, at: float) -> float:
        """Return the place of an instant, in milliseconds that are shown."""
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


async def _body(visit: Visit) -> Shown:
    name = visit.path["turn"]
    found = await visit.journal(turn_course.find, name, visit.now)
    if found is None:
        whole = await visit.journal(turn_course.newest, name) if len(name) >= 4 else None  # noqa: PLR2004 - shorter fits too many
        if whole is not None:
            return RedirectResponse(link("turns", whole), 303)
        return h.p(class_="empty")[
            "There is no such turn. Turns are kept for 90 days (retention.turnDays in agents.json)."
        ]
    return draw(visit, found)


async def _message(visit: Visit) -> Shown:
    row = visit.path["row"]
    turn = await visit.journal(turn_course.turn_of_message, int(row)) if row.isdigit() else None
    if turn is None:
        return h.p(class_="empty")["This message has no turn: it waits, was refused, or is gone."]
    return RedirectResponse(link("turns", turn), 303)


def draw(visit: Visit, found: TurnCourse) -> h.Node:
    """Draw the screen."""
    turn, reads = found.turn, visit.may(Right.READ)
    around = ((found.older, "◂ older in this chat"), (found.newer, "newer ▸"))
    return [
        h.p(class_="lead")[summary(found)],
        facts(
            {
                "state": figures.outcome(turn.state, turn.stop_reason),
                "agent": visible(turn.agent_id),
                "chat": _chat(visit, found),
                "message": None if found.message is None else str(found.message),
                "began": figures.moment(turn.began, visit.zone),
                "tokens": tokens(turn),
                "cost": figures.usd(turn.usd),
                "marks": ", ".join(marks(turn)) or None,
            }
        ),
        h.p(class_="problem")[plain(found.problem)] if found.problem else None,
        h.p(class_="said")[short(turn.asked, 300)] if reads else None,
        h.p[
            [[h.a(href=link("turns", other))[label], " · "] for other, label in around if other],
            [h.a(href=link("turns", turn.id, "prompt"))["what the model saw"], " · "]
            if reads
            else None,
            h.code[f"orchestrator trace {turn_name(turn.id)}"],
        ],
        panel("In time", _picture(found)),
        panel("Steps", (_card(visit, found, step) for step in found.steps))
        if found.steps
        else None,
    ]


def summary(found: TurnCourse) -> str:
    """Say in a sentence where the time went, and what it cost."""
    spent: Counter[str] = Counter()
    for bar in found.bars:
        name = visible(bar.name) if bar.kind == "tool" else KINDS.get(bar.kind, bar.kind)
        spent[name] += bar.ended - bar.began
    whole = max((bar.ended for bar in found.bars), default=found.came) - found.came
    parts = [f"{figures.span(ms)} {_in(name)}" for name, ms in spent.most_common(4) if ms >= 1]
    cost = figures.usd(found.turn.usd)
    return f"{figures.span(whole)} in all: {', '.join(parts) or 'nothing took long'}. Cost: {cost}."


def _in(name: str) -> str:
    return name if name in KINDS.values() and name != "the model" else f"in {name}"


def _picture(found: TurnCourse) -> h.Node:
    bars = _folded(found.bars) if len(found.bars) > MOST_ROWS else found.bars
    if not bars:
        return h.p(class_="empty")["Nothing happened yet."]
    scale = scaled(bars, found.came)
    height = ROW * (len(bars) + 1) + 14 * len(found.marks) + 8
    words = f"{figures.many(len(bars), 'part')} over {figures.span(bars[-1].ended - found.came)}"
    return [
        h.div(class_="scroll waterfall", tabindex="0", role="region", aria_label="Waterfall")[
            h.svg(viewBox=f"0 0 {WIDTH} {height}", role="img", aria_label=words)[
                (_line(bar, index, scale, found.came) for index, bar in enumerate(bars)),
                (
                    h.text(x=_x(scale, at), y=str(ROW * len(bars) + 16))[f"⋯ {figures.span(ms)} ⋯"]
                    for at, ms in ((at + FOLDED / 3, ms) for at, ms in scale.folds)
                ),
                (
                    [
                        h.line(
                            class_="death",
                            x1=_x(scale, scale.place(mark.at)),
                            x2=_x(scale, scale.place(mark.at)),
                            y1="0",
                            y2=str(ROW * len(bars)),
                        ),
                        h.text(
                            x=str(NAMES),
                            y=str(ROW * (len(bars) + 1) + 14 * index + 12),
                            class_="bad",
                        )[f"✕ after {figures.span(mark.at - found.came)}: {mark.text}"],
                    ]
                    for index, mark in enumerate(found.marks)
                ),
            ]
        ],
        h.details[
            h.summary["The same as a table"],
            table(
                "Parts",
                ("Part", "What", "#After", "#Took", ""),
                (
                    (
                        visible(bar.name),
                        KINDS.get(bar.kind, "a tool"),
                        figures.span(bar.began - found.came),
                        figures.span(bar.ended - bar.began) if bar.measured else "not measured",
                        plain(bar.about),
                    )
                    for bar in bars
                ),
            ),
            h.ul[(h.li[f"after {figures.span(m.at - found.came)}: {m.text}"] for m in found.marks)]
            if found.marks
            else None,
        ],
    ]


def _line(bar: CourseBar, index: int, scale: TimeScale, came: int) -> h.Node:
    left, right = scale.place(bar.began), scale.place(bar.ended)
    y = ROW * index
    kind = " ".join(
        [bar.kind, *(["failed"] if bar.failed else []), *([] if bar.measured else ["unmeasured"])]
    )
    took = figures.span(bar.ended - bar.began) if bar.measured else "not measured"
    words = f"{took}{' so far' if bar.open else ''} {short(bar.about, 60)}".strip()
    x, end = float(_x(scale, left)), float(_x(scale, right))
    return [
        h.text(x="0", y=str(y + 16))[short(bar.name, 24)],
        h.rect(
            class_=kind,
            x=f"{x:.1f}",
            y=str(y + 5),
            width=f"{max(2.0, end - x):.1f}",
            height="14",
            rx="2",
        )[h.title[f"{visible(bar.name)}: {words}, after {figures.span(bar.began - came)}"]],
        _label(words, x, end, y + 16),
    ]


def _label(words: str, x: float, end: float, y: int) -> h.Element:
    """Return the words of a bar: behind it, or where there is room, inside or before it."""
    width = LETTER * len(words)
    if end + width < WIDTH:
        return h.text(x=f"{end + 4:.1f}", y=str(y))[words]
    if width < end - x - 8:
        return h.text(x=f"{x + 4:.1f}", y=str(y), class_="inside")[words]
    if x - width > NAMES:
        return h.text(x=f"{x - 4:.1f}", y=str(y), text_anchor="end")[words]
    return h.text(x=f"{WIDTH - 4}", y=str(y), text_anchor="end", class_="over")[words]


def _x(scale: TimeScale, place: float) -> str:
    return f"{NAMES + (WIDTH - NAMES - 8) * place / scale.length:.1f}"


def scaled(bars: Sequence[CourseBar], came: int) -> TimeScale:
    """Fold what is longer than `GAP` and no work: waits for people, and time between."""
    work = sorted(
        (bar.began, bar.ended)
        for bar in bars
        if bar.kind != "person" or bar.ended - bar.began < GAP
    )
    end = max(bar.ended for bar in bars)
    knots, folds, place, at = [(came, 0.0)], [], 0.0, came
    for began, ended in [*work, (end, end)]:
        if began - at > GAP:
            folds.append((place, began - at))
            place += FOLDED
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


def _folded(bars: Sequence[CourseBar]) -> list[CourseBar]:
    """Make the calls of each tool one line, from the first to the last."""
    merged: dict[tuple[str, str], CourseBar] = {}
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


def _chat(visit: Visit, found: TurnCourse) -> h.Node:
    name = short(chat_name(found.turn.chat_key), 60)
    own = found.turn.chat_key.startswith("web/")
    if not (visit.may(Right.READ) and (own or visit.may(Right.CHAT))):
        return name
    return h.a(href=f"/chats/{found.turn.chat_key}")[name]


def _card(visit: Visit, found: TurnCourse, step: CourseStep) -> h.Element:
    reads = visit.may(Right.READ)
    took = None
    if step.measured is not None:
        took = figures.span(step.measured.ended - step.measured.began)
    elif step.began is not None and step.ended is not None:
        took = figures.span(step.ended - step.began)
    return h.details(id=f"step-{step.seq}", open=step.state in ("failed", "unknown"))[
        h.summary[
            f"{step.seq} · {'asked the model' if step.kind == 'model' else 'called'} ",
            h.b[visible(step.name)],
            " ",
            figures.call_state(step.state),
            f" {took or ''}",
        ],
        facts(dict(_facts(found, step))),
        [
            h.pre[visible(step.arguments)] if step.arguments else None,
            h.pre[plain(_text(step))] if step.result else None,
        ]
        if reads
        else h.p(class_="soft")["Texts are for operators."],
    ]


def _facts(found: TurnCourse, step: CourseStep) -> Iterator[tuple[str, h.Node]]:
    if step.kind == "model":
        yield from _measured(step)
    else:
        yield "class", step.side_effect.replace("_", " ")
    cost = found.costs.get(step.seq)
    if cost is not None:
        cached = f", {figures.count(cost.cached)} cached" if cost.cached else ""
        used = f"{figures.count(cost.prompt)} + {figures.count(cost.completion)}{cached}"
        yield "tokens", used
        yield "cost", figures.usd(cost.usd)
    for name, value in (("key of repetition", step.idem_key), ("request", step.request_id)):
        if value:
            yield name, visible(value)
    verdict = found.verdicts.get(step.seq)
    if verdict is not None:
        word = "it happened" if verdict.happened else "it did not happen"
        yield "verdict", f"{word}, says {visible(verdict.by_user)}"
    asked = found.approvals.get(step.seq)
    if asked is not None:
        by = f" by {visible(asked.by_user)}" if asked.by_user else ""
        yield "approval", f"{asked.state}{by}: {plain(asked.note or asked.reason)}"


def _measured(step: CourseStep) -> Iterator[tuple[str, h.Node]]:
    timing = step.measured
    if timing is None:
        yield "time", "not recorded: it is from before this was measured"
        return
    if timing.first is not None:
        yield "first word", figures.span(timing.first - timing.began)
    if timing.sent:
        yield "sent, got", f"{figures.size(timing.sent)}, {figures.size(timing.got)}"
    for number, attempt in enumerate(timing.attempts, 1):
        if attempt.error:
            yield f"attempt {number}", f"{visible(attempt.model)}: {plain(attempt.error)}"


def _text(step: CourseStep) -> str:
    """Return what a step came to: a model's words and calls, or a tool's result."""
    try:
        body = orjson.loads(step.result or "null")
    except orjson.JSONDecodeError:  # it was cut
        return step.result or ""
    if isinstance(body, dict) and isinstance(body.get("content"), str):
        calls = [str(call.get("name")) for call in body.get("tool_calls") or ()]
        return "\n\n".join(filter(None, [str(body["content"]), ", ".join(calls)]))
    return step.result or ""


SCREENS = (
    Screen("/turns/{turn}", "One turn", Right.LOOK, _body, "Turns"),
    Screen("/m/{row}", "One message", Right.LOOK, _message, "Turns"),
)
