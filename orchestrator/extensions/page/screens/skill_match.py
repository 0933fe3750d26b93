"""Which skills a message would bring into the prompt, beside the editor of a skill."""

import htpy as h

from orchestrator.control.camel_model import CamelModel
from orchestrator.extensions.page import edit_calls
from orchestrator.extensions.page.html.outside_text import (
    show_hidden_characters,
    strip_terminal_codes,
)
from orchestrator.extensions.page.html.parts import render_note
from orchestrator.extensions.page.screen_request import ScreenRequest

SKILL_CHECK = "skills/check"
SKILL_NAMES = "skills/"  # how the names of skills begin
MAX_MESSAGE = 8000  # characters


class TriedSkill(CamelModel):
    """A skill as it is edited, and a message to try."""

    name: str
    text: str
    message: str


class MatchedSkill(CamelModel):
    """A skill that a message matches by some keywords."""

    name: str
    keywords: tuple[str, ...] = ()
    own: bool = False


class MatchedSkills(CamelModel):
    """The skills in the order of the prompt, or why that is not known."""

    matches: tuple[MatchedSkill, ...] = ()
    problem: str = ""


async def find_matches(request: ScreenRequest, name: str, text: str) -> MatchedSkills | None:
    """Return what the message of the form matches; None without a message, or for other texts."""
    message = request.form.get("message", "").strip()[:MAX_MESSAGE]
    if not message or not name.startswith(SKILL_NAMES):
        return None
    folder = name.removeprefix(SKILL_NAMES).partition("/")[0]
    trial = TriedSkill(name=folder, text=text.replace("\r\n", "\n"), message=message)
    return await edit_calls.ask_extension(request, SKILL_CHECK, trial, MatchedSkills)


def render_match_field(request: ScreenRequest) -> h.Element:
    """Render the field for a message; the report tells what it matches."""
    return h.label[
        h.span["Would it match? Write a message"],
        h.input(
            name="message",
            value=request.form.get("message", ""),
            maxlength=str(MAX_MESSAGE),
            autocomplete="off",
        ),
    ]


def render_matches(found: MatchedSkills) -> h.Node:
    """Render the skills that a message matches."""
    if found.problem:
        return render_note(strip_terminal_codes(found.problem), kind="bad")
    if not any(one.own for one in found.matches):
        said = "This message does not match it."
    else:
        said = "This message matches it."
    return [
        h.h2[said],
        h.ul(class_="meaning")[
            (
                h.li[
                    h.strong[show_hidden_characters(one.name)],
                    f" by {show_hidden_characters(', '.join(one.keywords))}",
                ]
                for one in found.matches
            )
        ]
        if found.matches
        else None,
    ]
