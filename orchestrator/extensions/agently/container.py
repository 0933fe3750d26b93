"""Collect the slots of a prompt: set, append and update values, and inherit a parent's.

Python API::

    base = Slots({"system": "You are brief."})
    slots = Slots(parent=base)
    slots.set("input", "Hello ${name}", {"name": "Bob"})
    slots.build_prompt()  # a SlotPrompt with system and input
"""

import re
from collections.abc import Mapping
from textwrap import dedent
from typing import TypeAlias

from orchestrator.extensions.agently.upstream import Compat, choose_deep_merge
from thinker.formats.prompts.plain import map_items
from thinker.formats.prompts.slots import SlotPrompt, find_merge_policy, wrap_in_list
from thinker.prompt.render.slot_values import (
    Values,
    copy_containers,
    find_holder,
    inherit_values,
    set_value,
)

Mappings: TypeAlias = Mapping[str, object] | None  # values of placeholders; None keeps the text

PLACEHOLDER = re.compile(r"\$\{([^}]{1,200})\}")


class Slots:
    """The slots of a prompt, and the slots of a parent that it inherits.

    Keys may be dot paths (``info.user.name``); missing mappings on the path are created. With
    ``mappings``, placeholders ``${…}`` in keys and values are replaced first. ``compat`` follows
    the rules of that release of Agently.
    """

    def __init__(
        self,
        values: Mapping[str, object] | None = None,
        *,
        parent: "Slots | None" = None,
        compat: Compat | None = None,
    ) -> None:
        self._values: Values = {}
        self._parent = parent
        self._compat = compat
        self._policies = choose_deep_merge if compat else find_merge_policy
        self.update(values or {})

    def set(self, key: str, value: object, mappings: Mappings = None) -> "Slots":
        """Set a slot, merging the value with an older one as the slot's policy says.

        Text loses its common indentation and surrounding white space.

        Raises:
            TypeError: The path leads through a value that is not a mapping.
        """
        return self.put(key, self._trim_text(value), mappings)

    def update(self, values: Mapping[str, object], mappings: Mappings = None) -> "Slots":
        filled = values if mappings is None else fill_placeholders(values, mappings)
        for key, value in dict(filled).items():  # type: ignore[call-overload]  # a mapping stays one
            self.set(key, value)
        return self

    def put(self, key: str, value: object, mappings: Mappings = None) -> "Slots":
        """Set a slot like `set`, but leave text as it is."""
        if mappings is not None:
            key, value = str(fill_placeholders(key, mappings)), fill_placeholders(value, mappings)
        set_value(self._values, key, value, self._policies)
        return self

    def append(self, key: str, value: object, mappings: Mappings = None) -> "Slots":
        """Append a value to a slot, which becomes a list; duplicates are kept."""
        value = self._trim_text(value)
        if mappings is not None:
            key, value = str(fill_placeholders(key, mappings)), fill_placeholders(value, mappings)
        holder, last = find_holder(self._values, key)
        current = holder.get(last)
        if isinstance(current, set):
            holder[last] = current | {copy_containers(value)}
        else:
            holder[last] = [*wrap_in_list(current), copy_containers(value)]
        return self

    def delete(self, key: str) -> "Slots":
        """Delete a slot, or a value inside one; a missing one is ignored."""
        *path, last = key.split(".")
        holder: object = self._values
        for part in path:
            holder = holder.get(part) if isinstance(holder, dict) else None
        if isinstance(holder, dict):
            holder.pop(last, None)
        return self

    def values(self, *, inherited: bool = True) -> Values:
        """Return a copy of the slots, with or without those of the parents."""
        if self._parent is None or not inherited:
            return {key: copy_containers(value) for key, value in self._values.items()}
        return inherit_values(self._values, self._parent.values(), self._policies)

    def build_prompt(self) -> SlotPrompt:
        """Return the slots as a validated prompt.

        Raises:
            ValidationError: A value does not fit its slot.
        """
        return SlotPrompt.model_validate(self.values())

    def _trim_text(self, value: object) -> object:
        if not isinstance(value, str):
            return value
        return dedent(value.strip()) if self._compat else dedent(value).strip()


def fill_placeholders(value: object, mappings: Mapping[str, object]) -> object:
    """Replace the placeholders ``${name}`` in strings, mappings, lists, tuples and sets.

    A string that is a single placeholder becomes the mapped value with its type; inside a longer
    text the value becomes ``str``. Unknown names stay as they are. ``${user.name}`` looks up the
    key ``user.name``. Replaced text is not searched again.

    Raises:
        TypeError: ``mappings`` is not a dictionary.
    """
    if not isinstance(mappings, dict):
        raise TypeError(f"Variable mappings require a dictionary but got: {mappings}")
    if isinstance(value, str):
        if whole := PLACEHOLDER.fullmatch(value):
            return mappings.get(whole[1].strip(), value)
        return PLACEHOLDER.sub(lambda match: str(mappings.get(match[1].strip(), match[0])), value)
    if isinstance(value, Mapping):
        return {
            fill_placeholders(key, mappings): fill_placeholders(item, mappings)
            for key, item in value.items()
        }
    if isinstance(value, list | tuple | set):
        return map_items(value, lambda item: fill_placeholders(item, mappings))
    return value
