"""Sections as titled blocks of text: what both layouts of seed 001, §4, are made of."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import yaml

from thinker.formats.prompts.grammar import read
from thinker.formats.prompts.slots import TITLES, Compat
from thinker.prompt.render.layouts import written
from thinker.prompt.render.requirement import requirement
from thinker.prompt.render.sections import (
    ContentParts,
    Contract,
    Conversation,
    Section,
    Structured,
    Text,
    ToolTable,
)

ROLES: Mapping[str, str] = {
    "system": "system",
    "developer": "developer",
    "assistant": "assistant",
    "user": "user",
    "_": "assistant",  # any other
}
STANDARD = {*TITLES, "attachment"}
NOT_ASKING = {"tools", "action_results", "examples"}


class EmptyPromptError(KeyError):
    """Nothing in the prompt asks for anything."""


@dataclass(frozen=True)
class Style:
    """How the layouts name things: titles by section id, the model API's roles by ours.

    ``roles["_"]`` takes every role that is not named. ``output`` titles the last line, under which
    the model writes. ``compat`` takes over the quirks of that release of Agently.
    """

    titles: Mapping[str, str] = field(default_factory=dict)
    roles: Mapping[str, str] = field(default_factory=lambda: ROLES)
    output: str = "OUTPUT"
    compat: Compat | None = None

    def role(self, name: str) -> str:
        """The model API's name of a role of the conversation."""
        return self.roles.get(name, self.roles.get("_", name))

    def own_role(self, name: str) -> str:
        """The model API's name of a role that the layout itself speaks in."""
        return self.roles.get(name, name)

    def title(self, section: Section) -> str:
        """The title of a section's block."""
        return self.titles.get(section.id, section.title or section.id)


def joined(sections: Sequence[Section]) -> tuple[Section, ...]:
    """The sections, with what is attached to one as part of its text."""
    whole: list[Section] = []
    for section in sections:
        if section.attached and whole:
            words = text(whole[-1]) + text(section)
            whole[-1] = replace(whole[-1], body=Text(words))
        else:
            whole.append(section)
    return tuple(whole)


def is_main(section: Section) -> bool:
    """Whether a section belongs to the user's message: no system, developer or conversation."""
    return section.role == "user" and not isinstance(section.body, Conversation)


def check_asks(sections: Sequence[Section]) -> None:
    """Refuse a prompt that asks for nothing: no input, info, instruct, output or extra slot.

    Raises:
        EmptyPromptError: it is such a prompt.
    """
    if not any(is_main(section) and section.id not in NOT_ASKING for section in sections):
        raise EmptyPromptError(
            "Prompt requires at least one of 'input', 'info', 'instruct', 'output', 'attachment' "
            "or customize extra prompt keys to be provided."
        )


def main_block(sections: Sequence[Section], style: Style) -> str:
    """Everything but system, developer and conversation, and the line that the answer follows."""
    lines: list[str] = []
    for section in sections:
        if is_main(section) and shown(section):
            lines += block(section, style)
    return "\n".join((*lines, f"[{style.output}]:"))


def block(section: Section, style: Style) -> list[str]:
    """The lines of a section: its title, its body, and mostly an empty line."""
    title = f"[{style.title(section)}]:"
    match section.body:
        case ToolTable():
            return [title, *_tools(section.body)]
        case Contract():
            return _contract(title, section.body, style.compat)
        case ContentParts() | Conversation():
            return []
    write: Callable[[Section], str] = facts if section.id == "info" else text
    return [title, write(section), ""]


def text(section: Section) -> str:
    """The body of a section: words as they are, anything else as YAML."""
    match section.body:
        case Structured(None | bool() | int() | float() as value):
            return str(value)
        case Structured(value):
            return yaml.safe_dump(value, allow_unicode=True)
    return written(section.body)


def facts(section: Section) -> str:
    """The body of ``info``: one line for each entry."""
    match section.body:
        case Structured(dict() as value):
            return "\n".join(f"- {key}: {item}" for key, item in value.items())
        case Structured(list() | tuple() as value):
            return "\n".join(f"- {item}" for item in value)
    return text(section)


def shown(section: Section) -> bool:
    """Whether a section has something to show; an extra slot always has."""
    body = section.body
    empty = (isinstance(body, Structured) and not body.value) or (
        isinstance(body, Contract) and not body.output
    )
    return not empty or section.id not in STANDARD


def _tools(table: ToolTable) -> list[str]:
    lines: list[str] = []
    for row in table.rows:
        lines += ["[", f"name: {row.name}", f"desc: {row.description}"]
        lines += [f"kwargs: {row.arguments}"] if row.arguments else []
        lines += [f"returns: {row.returns}"] if row.returns else []
        lines.append("]")
    return lines


def _contract(title: str, contract: Contract, compat: Compat | None) -> list[str]:
    if contract.format == "markdown":
        return [title, "Data Format: markdown text"]
    if contract.format != "json":
        return []
    # Upstream pours the output into a dict, whatever it is.
    output = dict(contract.output) if compat else contract.output  # type: ignore[call-overload]  # as upstream
    shape = requirement(read(output), compat)
    return [title, "Data Format: JSON", "Data Structure:", shape, ""]
