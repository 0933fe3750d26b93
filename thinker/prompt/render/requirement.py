"""Write the output grammar as text, which shows the model the structure of its answer."""

import json

from thinker.formats.prompts.grammar import Entry, Group, Leaf, Listing, Node
from thinker.formats.prompts.plain import is_model, plain
from thinker.formats.prompts.slots import Compat

STEP = "  "


def requirement(entry: Entry, compat: Compat | None = None) -> str:
    """Return the structure with ``<type>`` for each value and descriptions after ``//``.

    ``compat`` does not escape keys and descriptions, and indents the content of tuples too far.
    """
    return _node(entry.node, 0, compat)


def _node(node: Node, level: int, compat: Compat | None) -> str:
    if isinstance(node, Leaf):
        return f"<{node.type.__name__ if is_model(node.type) else plain(node.type)}>"
    lines = _fields(node, level, compat) if isinstance(node, Group) else _items(node, level, compat)
    opening, closing = "{}" if isinstance(node, Group) else "[]"
    if not lines:
        return opening + closing
    inside = (STEP * (level + 1) + line for line in lines)
    return "\n".join((opening, *inside, STEP * level + closing))


def _fields(group: Group, level: int, compat: Compat | None) -> list[str]:
    lines = []
    for index, (name, entry) in enumerate(group.fields):
        key = f'"{name}"' if compat else json.dumps(name, ensure_ascii=False)
        comma = "," if index < len(group.fields) - 1 else ""
        text = _description(entry, compat)
        comment = " //" + (f" {text}" if text else "") if entry.described else ""
        lines.append(f"{key}: {_value(entry, level, compat)}{comma}{comment}")
    return lines


def _items(listing: Listing, level: int, compat: Compat | None) -> list[str]:
    lines = []
    for entry in listing.items:
        comment = f" // {_description(entry, compat)}" if entry.description else ""
        lines.append(f"{_value(entry, level, compat)},{comment}")
    return [*lines, "..."] if lines else []


def _value(entry: Entry, level: int, compat: Compat | None) -> str:
    too_deep = compat is not None and entry.wrapped
    return _node(entry.node, level + 1 + too_deep, compat)


def _description(entry: Entry, compat: Compat | None) -> str:
    return entry.description if compat else " ".join(entry.description.split())
