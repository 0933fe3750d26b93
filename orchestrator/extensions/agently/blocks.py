"""Write sections as titled blocks of text, which both layouts of Agently use."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import yaml

from orchestrator.extensions.agently.upstream import Compat, format_upstream_requirement
from thinker.formats.prompts.grammar import parse_output_schema
from thinker.formats.prompts.slots import TITLES
from thinker.prompt.render import sections as bodies
from thinker.prompt.render.layouts import format_body
from thinker.prompt.render.requirement import format_requirement
from thinker.prompt.render.sections import Section

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
    """The prompt has no input, info, instruct, output, attachment or extra slot."""


@dataclass(frozen=True)
class LayoutStyle:
    """The names in a layout: titles by section id, the model API's roles by this program's.

    ``roles["_"]`` is for all other roles. ``output`` is the title of the last line, after which the
    model writes. ``compat`` follows the rules of that release of Agently.
    """

    titles: Mapping[str, str] = field(default_factory=dict)
    roles: Mapping[str, str] = field(default_factory=lambda: ROLES)
    output: str = "OUTPUT"
    compat: Compat | None = None

    def map_role(self, name: str) -> str:
        """Return the model API's name for a role of the conversation."""
        return self.roles.get(name, self.roles.get("_", name))

    def map_own_role(self, name: str) -> str:
        """Return the model API's name for a role that the layout itself uses."""
        return self.roles.get(name, name)

    def find_title(self, section: Section) -> str:
        return self.titles.get(section.id, section.title or section.id)


def join_attached(sections: Sequence[Section]) -> tuple[Section, ...]:
    whole: list[Section] = []
    for section in sections:
        if section.attached and whole:
            whole[-1] = replace(
                whole[-1],
                body=bodies.Text(format_section_body(whole[-1]) + format_section_body(section)),
            )
        else:
            whole.append(section)
    return tuple(whole)


def is_main(section: Section) -> bool:
    """Return whether a section belongs to the user's message."""
    return section.role == "user" and not isinstance(section.body, bodies.Conversation)


def require_request(sections: Sequence[Section]) -> None:
    """Raise `EmptyPromptError` for a prompt without a request."""
    if not any(is_main(section) and section.id not in NOT_ASKING for section in sections):
        raise EmptyPromptError(
            "Prompt requires at least one of 'input', 'info', 'instruct', 'output', 'attachment' "
            "or customize extra prompt keys to be provided."
        )


def format_main_block(sections: Sequence[Section], style: LayoutStyle) -> str:
    """Return the blocks of the user's message, and the line after which the model writes."""
    lines: list[str] = []
    for section in sections:
        if is_main(section) and is_shown(section):
            lines += format_block(section, style)
    return "\n".join((*lines, f"[{style.output}]:"))


def format_block(section: Section, style: LayoutStyle) -> list[str]:
    """Return the lines of a section: its title, its body, and usually an empty line."""
    title = f"[{style.find_title(section)}]:"
    match section.body:
        case bodies.ToolTable():
            return [title, *_format_tools(section.body)]
        case bodies.Contract():
            return _format_contract(title, section.body, style.compat)
        case bodies.ContentParts() | bodies.Conversation():
            return []
    write: Callable[[Section], str] = format_facts if section.id == "info" else format_section_body
    return [title, write(section), ""]


def format_section_body(section: Section) -> str:
    """Return the body of a section: text as it is, structured values as YAML."""
    match section.body:
        case bodies.Structured(None | bool() | int() | float() as value):
            return str(value)
        case bodies.Structured(value):
            return yaml.safe_dump(value, allow_unicode=True)
    return format_body(section.body)


def format_facts(section: Section) -> str:
    """Return the body of ``info`` with one line for each entry."""
    match section.body:
        case bodies.Structured(dict() as value):
            return "\n".join(f"- {key}: {item}" for key, item in value.items())
        case bodies.Structured(list() | tuple() as value):
            return "\n".join(f"- {item}" for item in value)
    return format_section_body(section)


def is_shown(section: Section) -> bool:
    """Return whether a section is shown: it is not empty, or it is an extra slot."""
    match section.body:
        case bodies.Structured(value) | bodies.Contract(value):
            return bool(value) or section.id not in STANDARD
    return True


def _format_tools(table: bodies.ToolTable) -> list[str]:
    lines: list[str] = []
    for row in table.rows:
        lines += ["[", f"name: {row.name}", f"desc: {row.description}"]
        lines += [f"kwargs: {row.arguments}"] if row.arguments else []
        lines += [f"returns: {row.returns}"] if row.returns else []
        lines.append("]")
    return lines


def _format_contract(title: str, contract: bodies.Contract, compat: Compat | None) -> list[str]:
    if contract.format == "markdown":
        return [title, "Data Format: markdown text"]
    if contract.format != "json":
        return []
    # Upstream converts any output to a dict.
    output = dict(contract.output) if compat else contract.output  # type: ignore[call-overload]  # as upstream
    write = format_upstream_requirement if compat else format_requirement
    shape = write(parse_output_schema(output))
    return [title, "Data Format: JSON", "Data Structure:", shape, ""]
