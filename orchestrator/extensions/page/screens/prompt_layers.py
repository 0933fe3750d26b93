"""A prompt's layers, what changed since the turn before, and the cost of that."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import htpy as h
import orjson

from orchestrator.control.roles import Right
from orchestrator.extensions.page.html import figures, svg
from orchestrator.extensions.page.html.forms import build_link
from orchestrator.extensions.page.html.outside_text import (
    show_hidden_characters,
    strip_terminal_codes,
)
from orchestrator.extensions.page.html.parts import (
    render_blank,
    render_chips,
    render_cut_note,
    render_diff,
    render_link_button,
    render_note,
    render_panel,
)
from orchestrator.extensions.page.html.tables import ACTIONS, TableColumn, render_table
from orchestrator.extensions.page.reads import prompt_comparison, stamps
from orchestrator.extensions.page.reads.prompt_comparison import (
    NO_HISTORY,
    NO_TOOLS,
    PromptComparison,
    SentHistory,
)
from orchestrator.extensions.page.screen_request import (
    PageScreen,
    ScreenRequest,
    ScreenResult,
    TitledContent,
)
from orchestrator.extensions.page.screens.tool_overview import render_parameters
from orchestrator.journal.inspect.trace import RecordedPrompt
from thinker.protocol.messages import ToolSpec
from thinker.protocol.names import format_turn_name
from thinker.protocol.token_counts import estimate_tokens

MAX_TEXT = 65_536  # characters of a layer
SIGNS = {
    "first": "+ first",
    "same": "= same",
    "grew": "↓ grew",  # at its end, which breaks no cache
    "changed": "~ changed",
    "new": "+ new",
    "gone": "✕ gone",
}
MEANINGS = {
    "same": "unchanged",
    "grew": "longer at its end, which breaks no cache",
    "changed": "changed: all after it was new to a cache",
    "new": "new",
    "gone": "no longer there",
    "first": "the first prompt of the chat",
}
KINDS = {"changed": "warn", "new": "warn", "gone": "warn", "same": "quiet"}
OPEN = ("changed", "new", "gone")  # the changes whose texts are open
NEWEST = "newest message"
HISTORY, TOOLS = "history", "tools"
# The screens where the sources of parts are edited.
SOURCES = {
    "base": "agents",
    "skills": "texts",
    "playbooks": "texts",
    "memories": "memory",
    "card": "memory",
    TOOLS: "tools",
}


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
        return render_blank(
            "No prompt is recorded for this turn: no model was called yet, or it is too old.",
            render_link_button("The turn", build_link("turns", turn)),
            "turns",
        )
    return render_prompt(request, found)


def render_prompt(request: ScreenRequest, found: PromptComparison) -> TitledContent:
    """Render the screen."""
    parts = list(compare_sent_prompts(found))
    content = [
        h.p[describe_cache_break(found, parts)],
        _render_others(request, found),
        render_note(
            f"No turn with a prompt has the id “{show_hidden_characters(found.unknown)}”. This is"
            " beside the turn before.",
            kind="warn",
        )
        if found.unknown
        else None,
        render_panel(
            "Parts, in the order in which a provider reads them",
            _render_part_table(request, found, parts),
            h.p(class_="soft")[_describe_missing_tools(found.prompt)],
        ),
        _render_texts(found, parts),
        render_panel("Across turns", _render_across_turns(request, found))
        if len(found.turns) > 1
        else None,
    ]
    beside = f"beside turn {format_turn_name(found.other.turn_id)}" if found.other else "the first"
    lead = f"of turn {format_turn_name(found.prompt.turn_id)}, {beside}"
    return TitledContent("What the model saw", content, lead=lead, actions=_render_ways(found))


def _render_ways(found: PromptComparison) -> h.Node:
    turn = found.prompt.turn_id
    return [
        render_link_button("Newer ▸", build_link("turns", found.newer, "prompt"))
        if found.newer
        else None,
        render_link_button("◂ The turn", build_link("turns", turn)),
    ]


def _render_others(request: ScreenRequest, found: PromptComparison) -> h.Node:
    """Render the turns of the chat to compare with, the newest first."""
    turn = found.prompt.turn_id
    chips = [
        (
            f"{figures.format_moment(one.at, request.zone)} {format_turn_name(one.turn_id)}",
            build_link("turns", turn, "prompt", with_=one.turn_id),
            found.other is not None and one.turn_id == found.other.turn_id,
        )
        for one in reversed(found.turns)
        if one.turn_id != turn
    ]
    if not chips:
        return None
    return h.div(class_="row")[
        h.span(class_="soft")["Compare with "], render_chips(chips, "Turns to compare with")
    ]


def _render_part_table(
    request: ScreenRequest, found: PromptComparison, parts: list[PromptPart]
) -> h.Node:
    total = sum(part.tokens for part in parts) or 1
    heads = (
        TableColumn("Part", "grow"),
        "Sent in",
        TableColumn("Characters", "number"),
        TableColumn("About tokens", "number"),
        "Share",
        "Since the other",
        ACTIONS,
    )
    rows = (
        (
            h.a(href=f"#part-{number}")[_name_part(part.name)],
            part.place,
            figures.format_count(part.characters),
            figures.format_count(part.tokens),
            svg.render_share_bar(part.tokens / total, f"{100 * part.tokens // total} %"),
            h.span(class_=KINDS.get(part.change), title=MEANINGS[part.change])[SIGNS[part.change]],
            _render_edit_link(request, found, part),
        )
        for number, part in enumerate(parts)
    )
    return render_table("Parts", heads, rows)


def _render_edit_link(request: ScreenRequest, found: PromptComparison, part: PromptPart) -> h.Node:
    path = SOURCES.get(part.name)
    if path is None or not request.has_right(Right.CHANGE):
        return None
    address = build_link(path, found.agent_id) if path == "agents" else build_link(path)
    return h.a(href=address)["Edit"]


def _name_part(name: str) -> str:
    return show_hidden_characters(name.replace("_", " "))


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


def _render_across_turns(request: ScreenRequest, found: PromptComparison) -> h.Node:
    names = list(dict.fromkeys(name for one in found.turns for name in _build_texts(one)))
    rows: list[tuple[h.Node, ...]] = []
    for before, one in zip([None, *found.turns], found.turns, strict=False):
        changes = {part.name: part.change for part in compare_prompts(one, before)}
        address = build_link("turns", one.turn_id, "prompt")
        moment = figures.format_moment(one.at, request.zone)
        signs = (_render_sign(changes.get(name)) for name in names)
        rows.append((h.a(href=address)[moment], *signs))
    legend = " · ".join(f"{SIGNS[change][0]} {words}" for change, words in MEANINGS.items())
    return [
        render_table("Across turns", ("Turn", *map(_name_part, names)), rows),
        h.p(class_="soft")[legend],
    ]


def _render_sign(change: str | None) -> h.Node:
    if change is None:
        return None
    words = MEANINGS[change]
    return h.span(class_=KINDS.get(change), title=words, role="img", aria_label=words)[
        SIGNS[change][0]
    ]


def _describe_missing_tools(record: RecordedPrompt) -> str:
    missing = record.prompt.missing
    if not missing:
        return ""
    needs = ", ".join(
        f"{show_hidden_characters(tool)} (for {show_hidden_characters(book)})"
        for tool, book in missing.items()
    )
    return f"Needed and not offered: {needs}"


def _render_texts(found: PromptComparison, parts: list[PromptPart]) -> h.Node:
    """Render the texts of the parts: what changed open, the rest folded."""
    shown = [(part, _render_part(found, part, number)) for number, part in enumerate(parts)]
    news = [text for part, text in shown if part.change in OPEN]
    rest = [text for part, text in shown if part.change not in OPEN]
    return [
        render_panel("What changed", news) if news else None,
        render_panel("What stayed" if news else "The texts", rest) if rest else None,
    ]


def _render_part(found: PromptComparison, part: PromptPart, number: int) -> h.Element:
    return h.details(id=f"part-{number}", class_="one", open=part.change in OPEN)[
        h.summary[
            h.b[_name_part(part.name)],
            h.span(class_=KINDS.get(part.change, "soft"))[f" {SIGNS[part.change]}"],
            h.small[f" about {figures.format_count(part.tokens)} tokens"],
        ],
        _render_tools(found) if part.name == TOOLS and found.prompt.prompt.tools else None,
        _render_text(part) if part.name != TOOLS or not found.prompt.prompt.tools else None,
    ]


def _render_text(part: PromptPart) -> h.Node:
    text = part.text or part.before
    if part.change == "changed":
        return render_diff(part.before[:MAX_TEXT], part.text[:MAX_TEXT])
    return [
        h.pre[strip_terminal_codes(text[:MAX_TEXT])],
        render_cut_note(min(MAX_TEXT, len(text)), len(text)),
    ]


def _render_tools(found: PromptComparison) -> h.Node:
    """Render the offered tools: why each is there, what the model is told, and what changed."""
    record, before = found.prompt.prompt, found.other
    gone = [name for name in (before.prompt.tools if before else ()) if name not in record.tools]
    return [
        (_render_tool(found, name, record.reasons.get(name, "")) for name in record.tools),
        h.p[f"No longer offered: {', '.join(map(show_hidden_characters, gone))}"] if gone else None,
    ]


def _render_tool(found: PromptComparison, name: str, reason: str) -> h.Element:
    spec, earlier = found.tools.get(name), found.other_tools.get(name)
    words = f"{name}: {reason}" if reason else name
    new = found.other is not None and name not in found.other.prompt.tools
    changed = spec is not None and earlier is not None and spec != earlier
    sign = SIGNS["new"] if new else SIGNS["changed"] if changed else ""
    return h.details(class_="tool")[
        h.summary[show_hidden_characters(words), h.span(class_="warn")[f" {sign}"]],
        None
        if spec is None
        else [
            render_diff(earlier.description, spec.description)
            if changed and earlier is not None and earlier.description != spec.description
            else h.p[strip_terminal_codes(spec.description)],
            render_parameters(spec.parameters),
        ],
    ]


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
