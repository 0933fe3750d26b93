"""Step 4, layouts: turn sections into text."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeAlias

from thinker.formats.prompts.grammar import parse_output_schema
from thinker.formats.prompts.slots import TextMessageContent
from thinker.prompt.render import sections as bodies
from thinker.prompt.render.requirement import format_requirement
from thinker.prompt.render.sections import Body, Section

Layout: TypeAlias = Callable[[Sequence[Section]], str]


def render_markdown(sections: Sequence[Section]) -> str:
    """Return sections under their headings, separated by blank lines: the layout for agents."""
    return "".join(
        ("\n\n" if number and not section.attached else "")
        + (f"# {section.title}\n" if section.title else "")
        + format_body(section.body)
        for number, section in enumerate(sections)
    )


def render_plain(sections: Sequence[Section]) -> str:
    """Return sections without headings, separated by blank lines."""
    return render_markdown([replace(section, title="") for section in sections])


def format_body(body: Body) -> str:
    """Return a body as text; JSON has sorted keys, so that equal values give equal text."""
    match body:
        case bodies.Text(text):
            return text
        case bodies.VariablePart(name) | bodies.IncludedDefinition(name):
            return f"<{name}>"
        case bodies.Bullets(items):
            return "\n".join("- " + "\n  ".join(item.splitlines()) for item in items)
        case bodies.Structured(value):
            return json.dumps(value, ensure_ascii=False, indent=2, sort_keys=True)
        case bodies.ToolTable():
            return _format_table(body)
        case bodies.Conversation() | bodies.ContentParts() | bodies.Contract():
            return _format_slot_body(body)


def _format_slot_body(body: bodies.Conversation | bodies.ContentParts | bodies.Contract) -> str:
    match body:
        case bodies.Conversation(messages):
            return "\n".join(f"[{message.role}]: {message.content}" for message in messages)
        case bodies.ContentParts(items):
            return "\n".join(part.text for part in items if isinstance(part, TextMessageContent))
        case bodies.Contract(output, "json"):
            structure = format_requirement(parse_output_schema(output))
            return f"Answer with JSON of this structure:\n{structure}"
        case bodies.Contract():
            return f"Answer with {body.format}."


def _format_table(table: bodies.ToolTable) -> str:
    rows = [
        ("Tool", "Description", "Approval"),
        ("---", "---", "---"),
        *((row.name, row.description, row.approval) for row in table.rows),
    ]
    return "\n".join(f"| {' | '.join(map(_escape_cell, row))} |" for row in rows)


def _escape_cell(text: str) -> str:
    """Escape a cell, so that a row stays one row."""
    return " ".join(text.split()).replace("\\", "\\\\").replace("|", "\\|")
