"""A prompt's layers, what changed since the turn before, and the cost of that."""

from collections.abc import Iterator, Mapping
from difflib import ndiff
from typing import NamedTuple

import htpy as h
import orjson

from orchestrator.control.roles import Right
from orchestrator.extensions.page.html import figures, svg
from orchestrator.extensions.page.html.forms import build_link, render_filters
from orchestrator.extensions.page.html.outside_text import (
    show_hidden_characters,
    strip_terminal_codes,
)
from orchestrator.extensions.page.html.parts import render_panel
from orchestrator.extensions.page.html.tables import TableColumn, render_table
from orchestrator.extensions.page.reads import prompt_comparison, stamps
from orchestrator.extensions.page.reads.prompt_comparison import (
    NO_HISTORY,
    NO_TOOLS,
    PromptComparison,
    SentHistory,
)
from orchestrator.extensions.page.screen_request import PageScreen, ScreenRequest, ScreenResult
from orchestrator.journal.inspect.trace import RecordedPrompt
from thinker.protocol.messages import ToolSpec
from thinker.protocol.names import format_turn_name
from thinker.protocol.token_counts import estimate_tokens

MAX_TEXT = 65_536  # characters of a layer
MAX_COMPARED = 2000  # lines of two texts that are compared line by line
SIGNS = {
    "first": "+ first",
    "same": "= same",
    "grew": "↓ grew",  # at its end, which breaks no cache
    "changed": "~ changed",
    "new": "+ new",
    "gone": "✕ gone",
}
NEWEST = "newest message"
HISTORY = "history"


class PromptPart(NamedTuple):
    """A layer, or the tools: its place, and its difference from the other prompt."""

    name: str
    place: str
    text: str
    characters: int
    tokens: int
    change: str
    before: str


class _Text(NamedTuple):
    """The text of a part; ``size`` is its real length if the text is a summary."""

    place: str
    text: str
    size: int | None = None
    tokens: int | None = None

    @property
    def characters(self) -> int:
        return len(self.text) if self.size is None else self.size


async def _show_prompt(request: ScreenRequest) -> ScreenResult:
    turn, other = request.path["turn"], request.query.get("with") or None
    found = await request.journal(prompt_comparison.find_prompt_comparison, turn, other)
    if found is None:
        return h.p(class_="empty")[
            "No prompt is recorded for this turn: no model was called yet, or it is too old. ",
            h.a(href=build_link("turns", turn))["The turn"],
        ]
    return render_prompt(request, found)


def render_prompt(request: ScreenRequest, found: PromptComparison) -> h.Node:
    """Render the screen."""
    parts = list(compare_sent_prompts(found))
    total = sum(part.tokens for part in parts) or 1
    other = found.other
    return [
        h.p(class_="lead")[describe_cache_break(found, parts)],
        h.p[
            h.a(href=build_link("turns", found.prompt.turn_id))["◂ the turn"],
            f" · layout {found.prompt.prompt.layout}",
            f" · beside turn {format_turn_name(other.turn_id)}"
            if other
            else " · the first of its chat",
            " · ",
            h.code[f"orchestrator trace {format_turn_name(found.prompt.turn_id)} --prompt"],
        ],
        render_filters(request, [("with", "compare with the turn")]),
        h.p(class_="problem")[
            f"No turn with a prompt has the id “{show_hidden_characters(found.unknown)}”. This is"
            " beside the turn before; write the end of another turn's id."
        ]
        if found.unknown
        else None,
        render_panel(
            "Parts",
            render_table(
                "Parts",
                (
                    "Part",
                    "Sent in",
                    TableColumn("Characters", "number"),
                    TableColumn("About tokens", "number"),
                    "Share",
                    "Since the other",
                ),
                (
                    (
                        h.a(href=f"#part-{number}")[show_hidden_characters(part.name)],
                        part.place,
                        figures.format_count(part.characters),
                        figures.format_count(part.tokens),
                        svg.render_share_bar(
                            part.tokens / total, f"{100 * part.tokens // total} %"
                        ),
                        SIGNS[part.change],
                    )
                    for number, part in enumerate(parts)
                ),
            ),
            h.p(class_="soft")[_describe_missing_tools(found.prompt)],
        ),
        render_panel("Across turns", _render_across_turns(found)) if len(found.turns) > 1 else None,
        (_render_part(part, number) for number, part in enumerate(parts)),
    ]


def compare_sent_prompts(found: PromptComparison) -> Iterator[PromptPart]:
    """Yield the parts of a prompt, with tool definitions and the whole history."""
    theirs = {} if found.other is None else _build_texts(found.other, found.other_tools)
    mine = _build_texts(found.prompt, found.tools, found.history)
    return _compare_texts(mine, theirs, alone=found.other is None)


def compare_prompts(own: RecordedPrompt, other: RecordedPrompt | None) -> Iterator[PromptPart]:
    """Yield the parts of a prompt in the order in which providers read them."""
    return _compare_texts(
        _build_texts(own), {} if other is None else _build_texts(other), alone=other is None
    )


def _compare_texts(
    mine: Mapping[str, _Text], theirs: Mapping[str, _Text], *, alone: bool
) -> Iterator[PromptPart]:
    for name in {**mine, **theirs}:
        own, before = mine.get(name), theirs.get(name)
        yield PromptPart(
            name,
            own.place if own else "",
            own.text if own else "",
            own.characters if own else 0,
            0
            if own is None
            else estimate_tokens(own.characters)
            if own.tokens is None
            else own.tokens,
            "first" if alone else _classify_change(name, own, before),
            before.text if before else "",
        )


def _classify_change(name: str, own: _Text | None, before: _Text | None) -> str:
    if own is None:
        return "gone"
    if before is None:  # the first history follows what a cache has
        return "grew" if name == HISTORY else "new"
    if own.text == before.text:
        return "same"
    begins = own.text.partition("\n")[0], before.text.partition("\n")[0]
    return "grew" if name == HISTORY and begins[0] == begins[1] else "changed"


def describe_cache_break(found: PromptComparison, parts: list[PromptPart]) -> str:
    """Explain where the provider's cache broke, and what was sent anew for it."""
    used, stable = found.used, [part for part in parts if part.place != NEWEST]
    cached = ""
    if used is not None and used.prompt and not used.cached:
        cached = " The provider reported nothing from a cache."
    elif used is not None and used.prompt:
        share = 100 * used.cached // used.prompt
        cached = (
            f" The provider's cache had {figures.format_count(used.cached)} of"
            f" {figures.format_count(used.prompt)} tokens ({share} %)."
        )
    broke = next((part for part in stable if part.change not in ("first", "same", "grew")), None)
    if found.other is None:
        return f"The first prompt of this chat.{cached}"
    if broke is None:
        return f"Nothing before the newest message changed since the turn before.{cached}"
    name, change = show_hidden_characters(broke.name), SIGNS[broke.change][2:]
    text = f"“{name}” is {change}: all after it was new to a cache."
    if used is not None and used.usd is not None and used.prompt and used.cached:
        fresh = used.prompt - used.cached
        price = figures.format_usd(used.usd * fresh / (used.prompt + used.completion))
        text += f" {figures.format_count(fresh)} tokens were not cached, about {price}."
    return text + cached


def _build_texts(
    record: RecordedPrompt,
    tools: Mapping[str, ToolSpec] = NO_TOOLS,
    history: SentHistory = NO_HISTORY,
) -> Mapping[str, _Text]:
    """Return the parts, keyed by name, in the order in which providers read them."""
    prompt = record.prompt
    offered = "\n".join(
        _format_tool(name, prompt.reasons.get(name, ""), tools) for name in prompt.tools
    )
    sizes = [len(_format_definition(tool)) for tool in tools.values()]
    found = {"tools": _Text("tools", offered, sum(sizes) if sizes else None)}
    late: dict[str, _Text] = {}
    for layer in prompt.layers:
        place = "system"
        if prompt.is_in_message(layer):
            place = "an earlier message" if layer.standing else NEWEST
        kept = late if place == NEWEST else found
        kept[layer.name] = _Text(place, layer.text, tokens=layer.tokens)
    if record.history is not None:
        found[HISTORY] = _format_history(record.history, history)
    return found | late


def _format_tool(name: str, reason: str, tools: Mapping[str, ToolSpec]) -> str:
    said = f"{name}: {reason}"
    return f"{said}\n  {_format_definition(tools[name])}" if name in tools else said


def _format_definition(tool: ToolSpec) -> str:
    """Return a tool's definition, roughly as the model gets it."""
    about = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return orjson.dumps(about).decode()


def _format_history(window: tuple[int, int], history: SentHistory) -> _Text:
    """Return the history as lines, after one that names its start."""
    lines = [f"from message {window[0]} of the journal"]
    if history.total > len(history.messages):
        lines.append(f"… {history.total - len(history.messages)} older ones")
    lines += [
        f"{one.id} {one.role}, about {estimate_tokens(one.characters)} tokens: {one.text}"
        for one in history.messages
    ]
    lines.append(f"to message {window[1]}")
    return _Text("messages", "\n".join(lines), history.characters)


def _render_across_turns(found: PromptComparison) -> h.Node:
    names = list(dict.fromkeys(name for one in found.turns for name in _build_texts(one)))
    rows: list[tuple[h.Node, ...]] = []
    for before, one in zip([None, *found.turns], found.turns, strict=False):
        changes = {part.name: part.change for part in compare_prompts(one, before)}
        signs = (SIGNS[changes[name]][0] if name in changes else "" for name in names)
        address = build_link("turns", one.turn_id, "prompt")
        rows.append((h.a(href=address)[format_turn_name(one.turn_id)], *signs))
    return render_table("Across turns", ("Turn", *map(show_hidden_characters, names)), rows)


def _describe_missing_tools(record: RecordedPrompt) -> str:
    missing = record.prompt.missing
    if not missing:
        return ""
    needs = ", ".join(
        f"{show_hidden_characters(tool)} (for {show_hidden_characters(book)})"
        for tool, book in missing.items()
    )
    return f"Needed and not offered: {needs}"


def _render_part(part: PromptPart, number: int) -> h.Element:
    return h.details(id=f"part-{number}", class_="panel", open=part.change in ("changed", "new"))[
        h.summary[h.b[show_hidden_characters(part.name)], f" {SIGNS[part.change]}"],
        h.pre[_render_difference(part.before, part.text)]
        if part.change == "changed"
        else h.pre[strip_terminal_codes(part.text[:MAX_TEXT] or part.before[:MAX_TEXT])],
    ]


def _render_difference(before: str, after: str) -> h.Node:
    old, new = before.splitlines(), after.splitlines()
    if len(old) + len(new) > MAX_COMPARED:
        return [
            h.del_[strip_terminal_codes(before[:MAX_TEXT])],
            "\n",
            h.ins[strip_terminal_codes(after[:MAX_TEXT])],
        ]
    shown: list[h.Node] = []
    for line in ndiff(old, new):
        text = strip_terminal_codes(line[2:]) + "\n"
        if line[0] in "+-":
            shown.append(h.ins[text] if line[0] == "+" else h.del_[text])
        elif line[0] == " ":
            shown.append(text)
    return shown


SCREENS = (
    PageScreen(
        "/turns/{turn}/prompt",
        "What the model saw",
        Right.READ,
        _show_prompt,
        "Turns",
        stamp=stamps.read_turn,
    ),
)
