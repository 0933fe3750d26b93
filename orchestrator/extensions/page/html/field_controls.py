"""The controls of a form's fields."""

from collections.abc import Mapping, Sequence

import htpy as h

from orchestrator.extensions.page.edit_forms.field_values import NO, YES
from orchestrator.extensions.page.edit_forms.form_fields import FormField
from orchestrator.extensions.page.edit_forms.frequent_fields import CHOICE_WORDS
from orchestrator.extensions.page.html.outside_text import show_hidden_characters
from orchestrator.extensions.page.html.vocabulary import render_choice, render_field

HINTS = {
    "words": "One on each line.",
    "pairs": "NAME=value on each line.",
    "json": "As JSON.",
}
MANY_LINES = 12


def render_form_field(
    field: FormField, text: str, problem: str = "", offered: Sequence[tuple[str, str]] | None = None
) -> h.Node:
    """Render a field with a value as `field_values.format_value` gives it.

    ``offered`` are values that the control suggests, each with words for it; a field of choices
    for which some are ``offered``, though it may be none at all, has a list to choose from.
    """
    words = field.help.replace("`", "")
    help_text = " ".join(filter(None, (words, HINTS.get(field.kind))))
    shown = render_field(field.label, _render_control(field, text, offered), help_text, problem)
    if field.kind != "words" or not offered:
        return shown
    return [
        shown,
        h.details[
            h.summary[f"Names that are known: {len(offered)}"],
            h.p(class_="help")[", ".join(show_hidden_characters(value) for value, _ in offered)],
        ],
    ]


def render_hidden_values(posted: Mapping[str, str], names: Sequence[str]) -> h.Node:
    """Render what was posted for some fields, to be sent again."""
    return [
        h.input(type="hidden", name=name, value=posted[name]) for name in names if name in posted
    ]


def _render_control(
    field: FormField, text: str, offered: Sequence[tuple[str, str]] | None
) -> h.Node:
    if field.kind == "switch":
        words = [("", _describe_usual(field)), (YES, "Yes"), (NO, "No")]
        return render_choice(field.name, words, text)
    if field.kind == "choice" and not field.open:
        values = [(value, CHOICE_WORDS.get(value, value)) for value in field.choices]
        return render_choice(field.name, [("", _describe_usual(field)), *values], text)
    if field.kind in ("text", "words", "pairs", "json"):
        rows = min(MANY_LINES, max(2, text.count("\n") + 1))
        plain = field.kind in ("json", "pairs")
        return h.textarea(
            name=field.name,
            rows=str(rows),
            class_="short code" if plain else "short" if field.kind == "words" else None,
            spellcheck="false",
        )["\n" + text]
    if field.kind == "choice" and offered is not None:
        return _render_open_choice(field, text, offered)
    offered = offered or [(value, value) for value in field.choices]
    listed = f"{field.name}-list" if offered else None
    return [
        h.input(
            name=field.name,
            value=text,
            list=listed,
            required=field.required,
            inputmode="decimal" if field.kind == "number" else None,
            placeholder=_show_usual(field) or None,
            autocomplete="off",
        ),
        h.datalist(id=listed)[
            (
                h.option(value=value, label=None if words == value else words)
                for value, words in offered
            )
        ]
        if listed
        else None,
    ]


def _render_open_choice(
    field: FormField, text: str, offered: Sequence[tuple[str, str]]
) -> h.Element:
    """Render what is offered first, then the other choices, and a present value of its own."""
    first = dict(offered)
    rest = dict.fromkeys([*([text] if text else []), *field.choices])
    others = [(value, CHOICE_WORDS.get(value, value)) for value in rest if value not in first]
    choices = [("", _describe_usual(field)), *first.items(), *others]
    return render_choice(field.name, choices, text)


def _describe_usual(field: FormField) -> str:
    usual = _show_usual(field)
    return f"As usual: {CHOICE_WORDS.get(usual, usual)}" if usual else "Not set"


def _show_usual(field: FormField) -> str:
    if isinstance(field.usual, bool):
        return YES if field.usual else NO
    return (
        show_hidden_characters(str(field.usual))
        if isinstance(field.usual, str | int | float)
        else ""
    )
