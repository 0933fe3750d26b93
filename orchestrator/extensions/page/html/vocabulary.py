"""The vocabulary of the screens: panels, values, notes, chips, fields and empty states."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from typing import Literal, TypeAlias

import htpy as h

from orchestrator.extensions.page.html.icons import render_icon
from orchestrator.extensions.page.html.outside_text import show_hidden_characters

NoteKind: TypeAlias = Literal["", "done", "warn", "bad"]


def render_panel(
    title: str,
    *content: h.Node,
    id: str | None = None,  # noqa: A002 - HTML's name
    actions: h.Node = None,
    urgent: bool = False,
) -> h.Element:
    """Render a section of a screen with a heading; ``actions`` stand at its right."""
    return h.section(id=id, class_="panel urgent" if urgent else "panel")[
        h.div(class_="top")[h.h2[title], h.div(class_="row")[actions] if actions else None], content
    ]


def render_region(id: str, *content: h.Node) -> h.Element:  # noqa: A002 - HTML's name
    """Render a part of a screen that is redrawn by itself."""
    return h.section(id=id, data_region=True)[content]


def render_facts(values: Mapping[str, h.Node]) -> h.Element:
    """Render short names with values side by side, omitting None."""
    return h.dl(class_="facts")[
        (h.div[h.dt[name], h.dd[value]] for name, value in values.items() if value is not None)
    ]


def render_values(values: Mapping[str, h.Node], first: Iterable[str] = ()) -> h.Element:
    """Render names with values below each other; those named ``first`` stand out."""
    strong = frozenset(first)
    return h.dl(class_="values")[
        (
            [h.dt[name], h.dd(class_="first" if name in strong else None)[value]]
            for name, value in values.items()
        )
    ]


def render_note(*content: h.Node, kind: NoteKind = "") -> h.Element:
    """Render a remark; a warning or a problem has a sign, and what was ``done`` is told."""
    return h.div(class_=f"note {kind}".strip(), role="status" if kind == "done" else None)[
        render_icon("warning") if kind in {"warn", "bad"} else None, content
    ]


def render_blank(sentence: h.Node, action: h.Node = None, icon: str = "inbox") -> h.Element:
    """Render what an empty screen shows: one sentence, and the one thing to do."""
    return h.div(class_="blank")[render_icon(icon, 32), h.p[sentence], action]


def render_link_button(label: h.Node, href: str, kind: str = "", icon: str = "") -> h.Element:
    """Render a link that looks like a button; ``kind`` is ``do`` or ``danger``."""
    return h.a(href=href, class_=f"button {kind}".strip())[
        render_icon(icon) if icon else None, label
    ]


def render_chips(chips: Iterable[tuple[h.Node, str, bool]], label: str) -> h.Element:
    """Render filters as a row of links: what each says, where it leads, whether it is on."""
    return h.ul(class_="chips", aria_label=label)[
        (
            h.li[h.a(href=href, class_="chip on" if on else "chip", aria_current=on or None)[text]]
            for text, href, on in chips
        )
    ]


def render_cut_note(shown: int, whole: int, what: str = "characters") -> h.Node:
    """Say that a value was cut; nothing if it was not."""
    if shown >= whole:
        return None
    return h.span(class_="cut")[f" … the first {shown:,} of {whole:,} {what}"]


def render_field(
    label: str, control: h.Node, help_text: h.Node = None, problem: str = ""
) -> h.Element:
    """Render a control of a form with its label, help, and what is wrong with its value."""
    return h.div(class_="field wrong" if problem else "field")[
        h.label[h.span[label], control],
        h.p(class_="help")[help_text] if help_text else None,
        h.p(class_="problem", role="alert")[problem] if problem else None,
    ]


def render_choice(
    name: str, choices: Sequence[tuple[str, str]], chosen: str, label: str = ""
) -> h.Element:
    """Render a list of choices: values with the words that people see."""
    return h.select(name=name, aria_label=label or None)[
        (h.option(value=value, selected=value == chosen)[text] for value, text in choices)
    ]


def render_diff(old: str, new: str) -> h.Element:
    """Render the lines of two texts: removed, added, and around them what stays."""
    return h.div(class_="diff", role="group", aria_label="Differences")[
        _iter_changed_lines(old.splitlines(), new.splitlines())
    ]


def _iter_changed_lines(old: Sequence[str], new: Sequence[str]) -> Iterator[h.Element]:
    """Yield the lines of both; similar lines are not paired, which takes long for long texts."""
    for kind, begin, end, first, last in SequenceMatcher(None, old, new).get_opcodes():
        if kind == "equal":
            yield from (h.span["  ", show_hidden_characters(line)] for line in old[begin:end])
        else:
            yield from (h.del_["- ", show_hidden_characters(line)] for line in old[begin:end])
            yield from (h.ins["+ ", show_hidden_characters(line)] for line in new[first:last])
