"""Collect the slots of a prompt: set, append and update values, inherit a parent's.

Python API::

    base = Slots({"system": "You are brief."})
    slots = Slots(parent=base)
    slots.set("input", "Hello ${name}", {"name": "Bob"})
    slots.prompt()  # a SlotPrompt with system and input
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from textwrap import dedent
from typing import Any, TypeAlias

from thinker.formats.prompts.plain import mapped
from thinker.formats.prompts.slots import Compat, Merge, SlotPrompt, listed, policy

Values: TypeAlias = dict[str, object]

PLACEHOLDER = re.compile(r"\$\{\s*([^}]+?)\s*\}")


class Slots:
    """Slots that are set, appended to and updated, with a parent's slots behind them.

    Keys may be dot paths (``info.user.name``); what is missing on the way is made. With
    ``mappings``, ``${…}`` in keys and values is filled in first.

        base = Slots({"system": "You are brief."})
        slots = Slots(parent=base)
        slots.set("input", "Hello ${name}", {"name": "Bob"})
        slots.prompt()      # a SlotPrompt: system and input

    ``compat`` takes over the quirks of that release of Agently instead of our rules.
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
        self.update(values or {})

    def set(self, key: str, value: object, mappings: Mapping[str, object] | None = None) -> "Slots":
        """Put a value into a slot, merged with what is there as the slot's policy says.

        Text loses its common indentation and the space around it.

        Raises:
            TypeError: the path leads through a value that is no mapping.
        """
        return self._put(key, self._trimmed(value), mappings)

    def update(
        self, values: Mapping[str, object], mappings: Mapping[str, object] | None = None
    ) -> "Slots":
        """``set`` for several slots at once."""
        filled = values if mappings is None else substitute(values, mappings)
        for key, value in dict(filled).items():  # type: ignore[call-overload]  # a mapping stays one
            self.set(key, value)
        return self

    def put(self, key: str, value: object) -> "Slots":
        """``set`` that leaves text as it is."""
        return self._put(key, value, None)

    def append(
        self, key: str, value: object, mappings: Mapping[str, object] | None = None
    ) -> "Slots":
        """Put a value behind those of a slot, which becomes a list; repeats are kept."""
        key, value = self._filled(key, self._trimmed(value), mappings)
        holder, last = self._holder(key)
        current = holder.get(last)
        if isinstance(current, set):
            holder[last] = current | {copied(value)}
        elif current is None:
            holder[last] = [copied(value)]
        else:
            items = current if isinstance(current, list) else [current]
            holder[last] = [*items, copied(value)]
        return self

    def delete(self, key: str) -> "Slots":
        """Take a slot, or a place in one, away; what is not there is no error."""
        *path, last = key.split(".")
        holder: object = self._values
        for part in path:
            holder = holder.get(part) if isinstance(holder, dict) else None
        if isinstance(holder, dict):
            holder.pop(last, None)
        return self

    def values(self, *, inherited: bool = True) -> Values:
        """A copy of the slots, with those of the parents or without."""
        if self._parent is None or not inherited:
            return {key: copied(value) for key, value in self._values.items()}
        return inherit(self._values, self._parent.values(), self._compat)

    def prompt(self) -> SlotPrompt:
        """The slots as a checked prompt.

        Raises:
            ValidationError: a value that its slot cannot hold.
        """
        return SlotPrompt.model_validate(self.values())

    def _put(self, key: str, value: object, mappings: Mapping[str, object] | None) -> "Slots":
        key, value = self._filled(key, value, mappings)
        holder, last = self._holder(key)
        keep = self._compat or policy(key.split(".")[0]) is not Merge.REPLACE
        holder[last] = merge(holder[last], value) if last in holder and keep else copied(value)
        return self

    def _filled(
        self, key: str, value: object, mappings: Mapping[str, object] | None
    ) -> tuple[str, object]:
        if mappings is None:
            return key, value
        return str(substitute(key, mappings)), substitute(value, mappings)

    def _holder(self, key: str) -> tuple[dict[str, Any], str]:
        """The mapping that holds the last name of a path, and that name."""
        *path, last = key.split(".")
        holder: dict[str, Any] = self._values
        for index, part in enumerate(path):
            inner = holder.setdefault(part, {})
            if not isinstance(inner, dict):
                raise TypeError(
                    f"Can not set value to path '{key}' "
                    f"because '{'.'.join(path[: index + 1])}' is not a dictionary."
                )
            holder = inner
        return holder, last

    def _trimmed(self, value: object) -> object:
        if not isinstance(value, str):
            return value
        return dedent(value.strip()) if self._compat else dedent(value).strip()


def substitute(value: object, mappings: Mapping[str, object]) -> object:
    """The value with its placeholders filled, in mappings, lists, tuples and sets too.

    A text that is one placeholder becomes the mapped value, type and all; inside a longer text it
    becomes ``str`` of it. A name without mapping stays as it is. ``${user.name}`` looks up the key
    ``user.name``. What was filled in is not searched again.

    Raises:
        TypeError: ``mappings`` is no dictionary.
    """
    if not isinstance(mappings, dict):
        raise TypeError(f"Variable mappings require a dictionary but got: {mappings}")
    if isinstance(value, str):
        return _text(value, mappings)
    if isinstance(value, Mapping):
        return {
            substitute(key, mappings): substitute(item, mappings) for key, item in value.items()
        }
    if isinstance(value, list | tuple | set):
        return mapped(value, lambda item: substitute(item, mappings))
    return value


def _text(text: str, mappings: Mapping[str, object]) -> object:
    whole = PLACEHOLDER.fullmatch(text)
    if whole:
        return mappings.get(whole[1].strip(), text)
    return PLACEHOLDER.sub(lambda match: str(mappings.get(match[1].strip(), match[0])), text)


def copied(value: object) -> object:
    """The value with containers of its own; what they hold is shared."""
    if isinstance(value, dict):
        return {key: copied(item) for key, item in value.items()}
    if isinstance(value, list | set | tuple):
        return mapped(value, copied)
    return value


def merge(older: object, newer: object) -> object:
    """Both values as one: mappings key by key, collections get what they lack, else the newer."""
    if isinstance(older, dict) and isinstance(newer, Mapping):
        merged = {key: copied(item) for key, item in older.items()}
        for key, item in newer.items():
            merged[key] = merge(older[key], item) if key in older else copied(item)
        return merged
    if isinstance(older, list):
        items = newer if isinstance(newer, Sequence) and not isinstance(newer, str) else [newer]
        return _with_missing(older, items)
    if isinstance(older, set):
        return older.union(newer if isinstance(newer, set | list | tuple) else [newer])
    return copied(newer)


def inherit(child: Values, parent: Values, compat: Compat | None = None) -> Values:
    """What a child shows with its parent behind it; neither is changed.

    A child's value stands, an explicit None too. Mappings are merged, and a child's list gets the
    parent's items that it lacks, behind its own; of ``prepend_parent`` slots all of the parent's
    items come first.
    """
    shown = {key: copied(value) for key, value in parent.items()}
    for key, value in child.items():
        if key not in parent:
            shown[key] = copied(value)
        elif compat is None and policy(key) is Merge.PREPEND_PARENT:
            shown[key] = [*listed(copied(parent[key])), *listed(copied(value))]
        elif compat is None and policy(key) is Merge.REPLACE:
            shown[key] = copied(value)
        else:
            shown[key] = _inherited(value, parent[key])
    return shown


def _inherited(child: object, parent: object) -> object:
    if isinstance(child, dict) and isinstance(parent, dict):
        merged = {key: copied(value) for key, value in parent.items()}
        for key, value in child.items():
            merged[key] = _inherited(value, parent[key]) if key in parent else copied(value)
        return merged
    items = parent if isinstance(parent, list | set | tuple) else [parent]
    if isinstance(child, list):
        return _with_missing(child, items)
    if isinstance(child, set):
        return child.union(items)
    return copied(child)


def _with_missing(items: list[object], more: Iterable[object]) -> list[object]:
    result = [copied(item) for item in items]
    for item in more:
        if item not in result:
            result.append(copied(item))
    return result
