"""What a model saw: the layers of a prompt, what changed since the turn before, what that cost."""

from collections.abc import Iterator, Mapping
from difflib import ndiff
from typing import NamedTuple

import htpy as h
import orjson

from orchestrator.control.page_access import Right
from orchestrator.journal.inspect import prompt_course
from orchestrator.journal.inspect.prompt_course import (
    NO_HISTORY,
    NO_TOOLS,
    SentBeside,
    SentHistory,
)
from orchestrator.journal.inspect.trace import RecordedPrompt
from orchestrator.page.html import figures, svg
from orchestrator.page.html.forms import filters, link
from orchestrator.page.html.outside_text import plain, visible
from orchestrator.page.html.tables import panel, table
from orchestrator.page.visit import Screen, Shown, Visit
from thinker.protocol.messages import ToolSpec
from thinker.protocol.names import turn_name
from thinker.protocol.token_counts import estimated

SHOWN = 65_536  # characters of a layer
COMPARED = 2000  # lines of two texts that are compared line by line
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
    """A layer, or the tools: where it is sent, and how it differs from the other prompt."""

    name: str
    place: str
    text: str
    characters: int
    tokens: int
    change: str
    before: str


class _Text(NamedTuple):
    """The text of a part; where it only sums up what was sent, ``size`` are the characters."""

    place: str
    text: str
    size: int | None = None
    tokens: int | None = None

    @property
    def characters(self) -> int:
        return len(self.text) if self.size is None else self.size


async def _body(visit: Visit) -> Shown:
    turn, other = visit.path["turn"], visit.query.get("with") or None
    found = await visit.journal(prompt_course.find, turn, other)
    if found is None:
        return h.p(class_="empty")[
            "No prompt is recorded for this turn: no model was asked yet, or it is too old. ",
            h.a(href=link("turns", turn))["The turn"],
        ]
    return draw(visit, found)


def draw(visit: Visit, found: SentBeside) -> h.Node:
    """Draw the screen."""
    parts = list(sent_beside(found))
    total = sum(part.tokens for part in parts) or 1
    other = found.other
    return [
        h.p(class_="lead")[blame(found, parts)],
        h.p[
            h.a(href=link("turns", found.prompt.turn_id))["◂ the turn"],
            f" · layout {found.prompt.prompt.layout}",
            f" · beside turn {turn_name(other.turn_id)}" if other else " · the first of its chat",
            " · ",
            h.code[f"orchestrator trace {turn_name(found.prompt.turn_id)} --prompt"],
        ],
        filters(visit, [("with", "compare with the turn")]),
        h.p(class_="problem")[
            f"No turn with a prompt has the id “{visible(found.unknown)}”. This is beside the turn"
            " before; write the end of another turn's id."
        ]
        if found.unknown
        else None,
        panel(
            "Parts",
            table(
                "Parts",
                ("Part", "Sent in", "#Characters", "#About tokens", "Share", "Since the other"),
                (
                    (
                        h.a(href=f"#part-{number}")[visible(part.name)],
                        part.place,
                        figures.count(part.characters),
                        figures.count(part.tokens),
                        svg.share(part.tokens / total, f"{100 * part.tokens // total} %"),
                        SIGNS[part.change],
                    )
                    for number, part in enumerate(parts)
                ),
            ),
            h.p(class_="soft")[_missing(found.prompt)],
        ),
        panel("Across turns", _across(found)) if len(found.turns) > 1 else None,
        (_text(part, number) for number, part in enumerate(parts)),
    ]


def sent_beside(found: SentBeside) -> Iterator[PromptPart]:
    """Yield the parts of a prompt with the definitions of its tools and its whole history."""
    theirs = {} if found.other is None else _texts(found.other, found.other_tools)
    mine = _texts(found.prompt, found.tools, found.history)
    return _compared(mine, theirs, alone=found.other is None)


def compared(own: RecordedPrompt, other: RecordedPrompt | None) -> Iterator[PromptPart]:
    """Yield the parts of a prompt in the order in which providers read them."""
    return _compared(_texts(own), {} if other is None else _texts(other), alone=other is None)


def _compared(
    mine: Mapping[str, _Text], theirs: Mapping[str, _Text], *, alone: bool
) -> Iterator[PromptPart]:
    for name in {**mine, **theirs}:
        own, before = mine.get(name), theirs.get(name)
        yield PromptPart(
            name,
            own.place if own else "",
            own.text if own else "",
            own.characters if own else 0,
            0 if own is None else estimated(own.characters) if own.tokens is None else own.tokens,
            "first" if alone else _change(name, own, before),
            before.text if before else "",
        )


def _change(name: str, own: _Text | None, before: _Text | None) -> str:
    if own is None:
        return "gone"
    if before is None:  # the first history follows what a cache has
        return "grew" if name == HISTORY else "new"
    if own.text == before.text:
        return "same"
    begins = own.text.partition("\n")[0], before.text.partition("\n")[0]
    return "grew" if name == HISTORY and begins[0] == begins[1] else "changed"


def blame(found: SentBeside, parts: list[PromptPart]) -> str:
    """Say which part the provider's cache broke at, and what was sent anew for it."""
    used, stable = found.used, [part for part in parts if part.place != NEWEST]
    cached = ""
    if used is not None and used.prompt:
        share = 100 * used.cached // used.prompt
        cached = (
            f" The provider's cache had {figures.count(used.cached)} of"
            f" {figures.count(used.prompt)} tokens ({share} %)."
        )
    broke = next((part for part in stable if part.change not in ("first", "same", "grew")), None)
    if found.other is None:
        return f"The first prompt of this chat.{cached}"
    if broke is None:
        return f"Nothing before the newest message changed since the turn before.{cached}"
    text = f"“{visible(broke.name)}” is {SIGNS[broke.change][2:]}: all after it was new to a cache."
    if used is not None and used.usd is not None and used.prompt:
        fresh = used.prompt - used.cached
        price = used.usd * fresh / (used.prompt + used.completion)
        text += f" {figures.count(fresh)} tokens were not cached, about {figures.usd(price)}."
    return text + cached


def _texts(
    record: RecordedPrompt,
    tools: Mapping[str, ToolSpec] = NO_TOOLS,
    history: SentHistory = NO_HISTORY,
) -> Mapping[str, _Text]:
    """Return the parts by name, in the order in which providers read them."""
    prompt = record.prompt
    offered = "\n".join(_tool(name, prompt.reasons.get(name, ""), tools) for name in prompt.tools)
    sizes = [len(_definition(tool)) for tool in tools.values()]
    found = {"tools": _Text("tools", offered, sum(sizes) if sizes else None)}
    late: dict[str, _Text] = {}
    for layer in prompt.layers:
        place = "system"
        if prompt.beside(layer):
            place = "an earlier message" if layer.standing else NEWEST
        kept = late if place == NEWEST else found
        kept[layer.name] = _Text(place, layer.text, tokens=layer.tokens)
    if record.history is not None:
        found[HISTORY] = _past(record.history, history)
    return found | late


def _tool(name: str, reason: str, tools: Mapping[str, ToolSpec]) -> str:
    said = f"{name}: {reason}"
    return f"{said}\n  {_definition(tools[name])}" if name in tools else said


def _definition(tool: ToolSpec) -> str:
    """Return what a model is told about a tool, about as it is sent."""
    about = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return orjson.dumps(about).decode()


def _past(window: tuple[int, int], history: SentHistory) -> _Text:
    """Return the history as lines, after one that says where it begins."""
    lines = [f"from message {window[0]} of the journal"]
    if history.total > len(history.messages):
        lines.append(f"… {history.total - len(history.messages)} older ones")
    lines += [
        f"{one.id} {one.role}, about {estimated(one.characters)} tokens: {one.text}"
        for one in history.messages
    ]
    lines.append(f"to message {window[1]}")
    return _Text("messages", "\n".join(lines), history.characters)


def _across(found: SentBeside) -> h.Node:
    names = list(dict.fromkeys(name for one in found.turns for name in _texts(one)))
    rows: list[tuple[h.Node, ...]] = []
    for before, one in zip([None, *found.turns], found.turns, strict=False):
        changes = {part.name: part.change for part in compared(one, before)}
        signs = (SIGNS[changes[name]][0] if name in changes else "" for name in names)
        address = link("turns", one.turn_id, "prompt")
        rows.append((h.a(href=address)[turn_name(one.turn_id)], *signs))
    return table("Across turns", ("Turn", *map(visible, names)), rows)


def _missing(record: RecordedPrompt) -> str:
    missing = record.prompt.missing
    if not missing:
        return ""
    needs = ", ".join(f"{visible(tool)} (for {visible(book)})" for tool, book in missing.items())
    return f"Needed and not offered: {needs}"


def _text(part: PromptPart, number: int) -> h.Element:
    return h.details(id=f"part-{number}", class_="panel", open=part.change in ("changed", "new"))[
        h.summary[h.b[visible(part.name)], f" {SIGNS[part.change]}"],
        h.pre[_difference(part.before, part.text)]
        if part.change == "changed"
        else h.pre[plain(part.text[:SHOWN] or part.before[:SHOWN])],
    ]


def _difference(before: str, after: str) -> h.Node:
    old, new = before.splitlines(), after.splitlines()
    if len(old) + len(new) > COMPARED:
        return [h.del_[plain(before[:SHOWN])], "\n", h.ins[plain(after[:SHOWN])]]
    shown: list[h.Node] = []
    for line in ndiff(old, new):
        text = plain(line[2:]) + "\n"
        if line[0] in "+-":
            shown.append(h.ins[text] if line[0] == "+" else h.del_[text])
        elif line[0] == " ":
            shown.append(text)
    return shown


SCREENS = (Screen("/turns/{turn}/prompt", "What the model saw", Right.READ, _body, "Turns"),)
