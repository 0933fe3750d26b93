"""Write the output grammar as text, which shows the model the structure of its answer."""

import json

from thinker.formats.prompts.grammar import Entry, Group, Leaf, Listing, Node
from thinker.formats.prompts.plain import is_model, to_plain_data

STEP = "  "


class RequirementWriter:
    """Writes a structure with ``<type>`` for each value and descriptions after ``//``."""

    wrapped_levels = 0  # by which the content of a tuple is indented further

    def format_key(self, name: str) -> str:
        return json.dumps(name, ensure_ascii=False)

    def format_description(self, entry: Entry) -> str:
        return " ".join(entry.description.split())

    def format_node(self, node: Node, level: int = 0) -> str:
        """Return the text of a node that begins at a level of indentation."""
        if isinstance(node, Leaf):
            return f"<{node.type.__name__ if is_model(node.type) else to_plain_data(node.type)}>"
        lines = (
            self._format_fields(node, level)
            if isinstance(node, Group)
            else self._format_items(node, level)
        )
        opening, closing = "{}" if isinstance(node, Group) else "[]"
        if not lines:
            return opening + closing
        inside = (STEP * (level + 1) + line for line in lines)
        return "\n".join((opening, *inside, STEP * level + closing))

    def _format_fields(self, group: Group, level: int) -> list[str]:
        lines = []
        for index, (name, entry) in enumerate(group.fields):
            comma = "," if index < len(group.fields) - 1 else ""
            text = self.format_description(entry)
            comment = " //" + (f" {text}" if text else "") if entry.described else ""
            value = self._format_value(entry, level)
            lines.append(f"{self.format_key(name)}: {value}{comma}{comment}")
        return lines

    def _format_items(self, listing: Listing, level: int) -> list[str]:
        lines = []
        for entry in listing.items:
            comment = f" // {self.format_description(entry)}" if entry.description else ""
            lines.append(f"{self._format_value(entry, level)},{comment}")
        return [*lines, "..."] if lines else []

    def _format_value(self, entry: Entry, level: int) -> str:
        return self.format_node(entry.node, level + 1 + self.wrapped_levels * entry.wrapped)


def format_requirement(entry: Entry) -> str:
    """Return the structure as prompts show it."""
    return RequirementWriter().format_node(entry.node)
