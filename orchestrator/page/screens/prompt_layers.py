"""What a model saw: the layers of a prompt, what changed since the turn before, what that cost."""

from collections.abc import Iterator, Mapping
from difflib import ndiff
from typing import NamedTuple

import htpy as h

from orchestrator.control.page_access import Right
from orchestrator.journal.inspect import prompt_course
from orchestrator.journal.inspect.prompt_course import SentBeside
from orchestrator.journal.inspect.trace import RecordedPrompt
from orchestrator.page.html import figures, svg
from orchestrator.page.html.forms import filters, link
from orchestrator.page.html.outside_text import plain, visible
from orchestrator.page.html.tables import panel, table
from orchestrator.page.visit import Screen, Shown, Visit
from thinker.protocol.names import turn_name

SHOWN = 65_536  # characters of a layer
COMPARED = 2000  # lines of two texts that are compared line by line
SIGNS = {"same": "= same", "changed": "~ changed", "new": "+ new", "gone": "✕ gone"}


class PromptPart(NamedTuple):
    """A layer, or the tools: where it is sent, and how it differs from the other prompt."""

    name: str
    place: str
    text: str
    tokens: int
    change: str
    before: str


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
    parts = list(compared(found.prompt, found.other))
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
        panel(
            "Parts",
            table(
                "Parts",
                ("Part", "Sent in", "#Characters", "#About tokens", "Share", "Since the other"),
                (
                    (
                        h.a(href=f"#part-{number}")[visible(part.name)],
                        part.place,
                        figures.count(len(part.text)),
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


def compared(own: RecordedPrompt, other: RecordedPrompt | None) -> Iterator[PromptPart]:
    """Yield the parts of a prompt in the order in which providers read them."""
    mine, theirs = _texts(own), {} if other is None else _texts(other)
    for name in {**mine, **theirs}:
        place, text, tokens = mine.get(name, ("", "", 0))
        before = theirs[name][1] if name in theirs else ""
        change = "same" if text == before else "changed"
        if other is None:
            change = "same"
        elif name not in theirs:
            change = "new"
        elif name not in mine:
            change = "gone"
        yield PromptPart(name, place, text, tokens, change, before)


def blame(found: SentBeside, parts: list[PromptPart]) -> str:
    """Say which part the provider's cache broke at, and what was sent anew for it."""
    used, stable = found.used, [part for part in parts if part.place != "newest message"]
    cached = ""
    if used is not None and used.prompt:
        share = 100 * used.cached // used.prompt
        cached = (
            f" The provider's cache had {figures.count(used.cached)} of"
            f" {figures.count(used.prompt)} tokens ({share} %)."
        )
    broke = next((part for part in stable if part.change != "same"), None)
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


def _texts(record: RecordedPrompt) -> Mapping[str, tuple[str, str, int]]:
    """Return where each part goes, its text, and about how many tokens it has."""
    prompt = record.prompt
    tools = "\n".join(f"{name}: {prompt.reasons.get(name, '')}" for name in prompt.tools)
    found = {"tools": ("tools", tools, 0)}
    for layer in prompt.layers:
        place = "system"
        if prompt.beside(layer):
            place = "an earlier message" if layer.standing else "newest message"
        found[layer.name] = (place, layer.text, layer.tokens)
    if record.history is not None:
        first, last = record.history
        found["history"] = ("messages", f"messages {first} to {last} of the journal", 0)
    return found


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
