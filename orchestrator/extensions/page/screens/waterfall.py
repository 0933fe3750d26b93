"""A message as a waterfall: durations, costs, and incidents."""

from collections import Counter
from collections.abc import Iterator

import htpy as h
import orjson
from starlette.responses import RedirectResponse

from orchestrator.control.roles import Right
from orchestrator.extensions.page.html import figures
from orchestrator.extensions.page.html.argument_rows import (
    find_result_text,
    render_arguments,
    render_result,
    summarize_arguments,
)
from orchestrator.extensions.page.html.forms import build_link
from orchestrator.extensions.page.html.outside_text import (
    shorten_text,
    show_hidden_characters,
    strip_terminal_codes,
)
from orchestrator.extensions.page.html.vocabulary import (
    render_blank,
    render_facts,
    render_link_button,
    render_panel,
    render_values,
)
from orchestrator.extensions.page.reads import stamps, turn_timeline
from orchestrator.extensions.page.reads.turn_people import NO_PEOPLE, TurnPeople, load_turn_people
from orchestrator.extensions.page.reads.turn_timeline import TimelineStep, TurnTimeline
from orchestrator.extensions.page.screen_request import (
    PageScreen,
    ScreenRequest,
    ScreenResult,
    TitledContent,
)
from orchestrator.extensions.page.screens import turn_picture
from orchestrator.extensions.page.screens.receipt_panel import render_receipt
from orchestrator.extensions.page.screens.remedies import render_lacks, render_trouble
from orchestrator.extensions.page.screens.tool_overview import EFFECTS
from orchestrator.extensions.page.screens.turn_picture import KINDS
from orchestrator.extensions.page.screens.turn_table import (
    describe_turn_marks,
    format_turn_tokens,
    name_chat,
    render_cost,
    render_turn_state,
)
from thinker.protocol.names import format_chat_name, format_turn_name

MAX_TITLE = 40  # characters of the question
MAX_SHOWN = 300  # characters of a question or answer that are not folded


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
        return render_blank(
            "Turn not found. Turns are kept for 90 days (retention.turnDays in agents.json).",
            render_link_button("All turns", "/turns"),
            "turns",
        )
    return render_turn(request, found, await request.journal(load_turn_people, [found.turn]))


async def _redirect_to_turn(request: ScreenRequest) -> ScreenResult:
    row = request.path["row"]
    turn = (
        await request.journal(turn_timeline.find_turn_of_message, int(row))
        if row.isdigit()
        else None
    )
    if turn is None:
        return render_blank("This message has no turn: it waits, was refused, or was deleted.")
    return RedirectResponse(build_link("turns", turn), 303)


def render_turn(
    request: ScreenRequest, found: TurnTimeline, people: TurnPeople = NO_PEOPLE
) -> TitledContent:
    """Render the screen."""
    turn, reads = found.turn, request.has_right(Right.READ)
    content = [
        _render_troubles(request, found),
        _render_exchange(found) if reads else None,
        render_receipt(request, turn.id, found.receipt) if reads else None,
        render_panel(
            "In time",
            h.p[describe_turn(found, people.waits.get(turn.id, 0))],
            turn_picture.render_picture(found),
        ),
        render_panel("Steps", (_render_step(request, found, step) for step in found.steps))
        if found.steps
        else None,
        render_panel(
            "Facts",
            render_facts(
                {
                    "Began": figures.render_moment(turn.began, request.zone),
                    "Tokens": format_turn_tokens(turn),
                    "Cost": render_cost(request, turn.usd),
                    "Message": None if found.message is None else str(found.message),
                    "Marks": ", ".join(describe_turn_marks(turn)) or None,
                    "In a terminal": h.code[f"orchestrator trace {format_turn_name(turn.id)}"],
                }
            ),
        ),
    ]
    title = shorten_text(turn.asked, MAX_TITLE) if reads else f"Turn {format_turn_name(turn.id)}"
    return TitledContent(
        title or f"Turn {format_turn_name(turn.id)}",
        content,
        lead=_render_lead(request, found, people),
        actions=_render_ways(request, found, reads=reads),
    )


def _render_exchange(found: TurnTimeline) -> h.Node:
    """Render what was asked and the last text of the model, long ones folded."""
    texts = (
        find_result_text(step.result)
        for step in reversed(found.steps)
        if step.kind == "model" and step.result
    )
    answer = next((text for text in texts if text.strip()), "")
    if len(found.asked) <= MAX_TITLE and not answer:
        return None
    return render_panel(
        "Question and answer",
        render_values(
            {"Asked": _render_long_text(found.asked), "Answer": _render_long_text(answer)}
        ),
    )


def _render_long_text(text: str) -> h.Node:
    if len(text) <= MAX_SHOWN:
        return h.div(class_="held")[strip_terminal_codes(text)]
    return h.details[
        h.summary[shorten_text(text, MAX_SHOWN)], h.div(class_="held")[strip_terminal_codes(text)]
    ]


def _render_lead(request: ScreenRequest, found: TurnTimeline, people: TurnPeople) -> h.Node:
    turn = found.turn
    return [
        render_turn_state(turn),
        " · ",
        h.a(href=build_link("turns", agent=turn.agent_id))[show_hidden_characters(turn.agent_id)],
        " · ",
        _render_chat_link(request, found, people),
    ]


def _render_ways(request: ScreenRequest, found: TurnTimeline, *, reads: bool) -> h.Node:
    around = ((found.older, "◂ Older"), (found.newer, "Newer ▸"))
    return [
        [render_link_button(label, build_link("turns", turn)) for turn, label in around if turn],
        render_link_button("What the model saw", build_link("turns", found.turn.id, "prompt"))
        if reads
        else None,
        [
            render_link_button("Make it a test", build_link("turns", found.turn.id, "test")),
            render_link_button("Try", build_link("try", found.turn.id), "do"),
        ]
        if request.daemon is not None and request.has_right(Right.CHANGE)
        else None,
    ]


def _render_troubles(request: ScreenRequest, found: TurnTimeline) -> h.Node:
    turn = found.turn
    return [
        render_trouble(request, found.problem, "bad") if found.problem else None,
        render_lacks(turn.agent_id, [str(one) for one in found.degraded], "here")
        if found.degraded
        else None,
    ]


def describe_turn(found: TurnTimeline, waited: int = 0) -> str:
    """Summarize in a sentence where the time went, and the cost.

    ``waited`` are the milliseconds of the turn in which it waited for people.
    """
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
    took = f"{figures.format_span(max(0, whole - waited))} in all"
    if waited:
        took += f" + {figures.format_span(waited, rough=True)} waiting for people"
    return f"{took}: {shares}. Cost: {cost}."


def _format_part_name(name: str) -> str:
    return name if name in KINDS.values() and name != "the model" else f"in {name}"


def _render_chat_link(request: ScreenRequest, found: TurnTimeline, people: TurnPeople) -> h.Node:
    turn = found.turn
    name, address = name_chat(request, turn.chat_key, people), format_chat_name(turn.chat_key)
    own = turn.chat_key.startswith("web/")
    if not (request.has_right(Right.READ) and (own or request.has_right(Right.CHAT))):
        return name
    href = f"/chats/{turn.chat_key}?turn={turn.id}#turn-{turn.id}"
    return h.a(href=href, title=show_hidden_characters(address))[name]


def _render_step(request: ScreenRequest, found: TurnTimeline, step: TimelineStep) -> h.Element:
    reads = request.has_right(Right.READ)
    took = None
    if step.call_timing is not None:
        took = figures.format_span(step.call_timing.ended - step.call_timing.began)
    elif step.began is not None and step.ended is not None:
        took = figures.format_span(step.ended - step.began)
    about = summarize_arguments(step.arguments) if reads and step.arguments else ""
    return h.details(id=f"step-{step.seq}", class_="one", open=step.state in ("failed", "unknown"))[
        h.summary[
            h.span(class_="soft")[f"{step.seq} "],
            f"{'asked' if step.kind == 'model' else 'called'} ",
            h.b[show_hidden_characters(step.name)],
            " ",
            figures.render_call_state(step.state),
            h.span(class_="soft")[f" {took or ''} {about}"],
        ],
        render_facts(dict(_list_step_facts(found, step))),
        [
            [h.h3["Arguments"], render_arguments(step.arguments)] if step.arguments else None,
            [h.h3["Answer" if step.kind == "model" else "Result"], _render_result(step)]
            if step.result
            else None,
        ]
        if reads
        else h.p(class_="soft")["Texts are for operators."],
    ]


def _list_step_facts(found: TurnTimeline, step: TimelineStep) -> Iterator[tuple[str, h.Node]]:
    if step.kind == "model":
        yield from _list_timing_facts(step)
    else:
        yield "effect", EFFECTS.get(step.side_effect, step.side_effect)
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


def _render_result(step: TimelineStep) -> h.Node:
    """Render a step's result: a model's text and calls, or a tool's result."""
    if step.kind != "model":
        return render_result(step.result or "")
    try:
        body = orjson.loads(step.result or "null")
    except orjson.JSONDecodeError:  # it was cut
        return render_result(step.result or "")
    calls = body.get("tool_calls") or () if isinstance(body, dict) else ()
    text = find_result_text(step.result or "")
    names = ", ".join(show_hidden_characters(str(call.get("name"))) for call in calls)
    return [
        h.pre[strip_terminal_codes(text)] if text.strip() else None,
        h.p[f"Wants to call {names}"] if names else None,
    ]


SCREENS = (
    PageScreen(
        "/turns/{turn}", "One turn", Right.LOOK, _show_turn, "Turns", stamp=stamps.read_turn
    ),
    PageScreen("/m/{row}", "One message", Right.LOOK, _redirect_to_turn, "Turns"),
)
