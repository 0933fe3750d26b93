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

from thinker.formats.prompts.plain import map_items
from thinker.formats.prompts.slots import Compat, Merge, SlotPrompt, as_list, merge_policy

Values: TypeAlias = dict[str, object]
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
        self.update(values or {})

    def set(self, key: str, value: object, mappings: Mappings = None) -> "Slots":
        """Set a slot, merging the value with an older one as the slot's policy says.

        Text loses its common indentation and surrounding white space.

        Raises:
            TypeError: The path leads through a value that is not a mapping.
        """
        return self.put(key, self._trimmed(value), mappings)

    def update(self, values: Mapping[str, object], mappings: Mappings = None) -> "Slots":
        filled = values if mappings is None else substitute(values, mappings)
        for key, value in dict(filled).items():  # type: ignore[call-overload]  # a mapping stays one
            self.set(key, value)
        return self

    def put(self, key: str, value: object, mappings: Mappings = None) -> "Slots":
        """Set a slot like `set`, but leave text as it is."""
        if mappings is not None:
            key, value = str(substitute(key, mappings)), substitute(value, mappings)
        holder, last = self._holder(key)
        keep = self._compat or merge_policy(key.split(".")[0]) is not Merge.REPLACE
        holder[last] = merge(holder[last], value) if last in holder and keep else _copy(value)
        return self

    def append(self, key: str, value: object, mappings: Mappings = None) -> "Slots":
        """Append a value to a slot, which becomes a list; duplicates are kept."""
        value = self._trimmed(value)
        if mappings is not None:
            key, value = str(substitute(key, mappings)), substitute(value, mappings)
        holder, last = self._holder(key)
        current = holder.get(last)
        if isinstance(current, set):
            holder[last] = current | {_copy(value)}
        else:
            holder[last] = [*as_list(current), _copy(value)]
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
            return {key: _copy(value) for key, value in self._values.items()}
        return inherit(self._values, self._parent.values(), self._compat)

    def prompt(self) -> SlotPrompt:
        """Return the slots as a validated prompt.

        Raises:
            ValidationError: A value does not fit its slot.
        """
        return SlotPrompt.model_validate(self.values())

    def _holder(self, key: str) -> tuple[dict[str, Any], str]:
        """Return the mapping that holds the last name of a path, and that name."""
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
    """Replace the placeholders ``${name}`` in texts, mappings, lists, tuples and sets.

    A text that is a single placeholder becomes the mapped value with its type; inside a longer text
    the value becomes ``str``. Unknown names stay as they are. ``${user.name}`` looks up the key
    ``user.name``. Replaced text is not searched again.

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
            substitute(key, mappings): substitute(item, mappings) for key, item in value.items()
        }
    if isinstance(value, list | tuple | set):
        return map_items(value, lambda item: substitute(item, mappings))
    return value


def _copy(value: object) -> object:
    """Copy containers at every depth; other objects are shared."""
    if isinstance(value, dict):
        return {key: _copy(item) for key, item in value.items()}
    if isinstance(value, list | set | tuple):
        return map_items(value, _copy)
    return value


def merge(older: object, newer: object) -> object:
    """Merge two values: mappings key by key, collections by adding missing items.

    Any other pair becomes the newer value.
    """
    if isinstance(older, dict) and isinstance(newer, Mapping):
        merged = {key: _copy(item) for key, item in older.items()}
        for key, item in newer.items():
            merged[key] = merge(older[key], item) if key in older else _copy(item)
        return merged
    if isinstance(older, list):
        items = newer if isinstance(newer, Sequence) and not isinstance(newer, str) else [newer]
        return _with_missing(older, items)
    if isinstance(older, set):
        return older.union(newer if isinstance(newer, set | list | tuple) else [newer])
    return _copy(newer)


def inherit(child: Values, parent: Values, compat: Compat | None = None) -> Values:
    """Return the values of a child with those it inherits; neither mapping is changed.

    The child's value wins, even an explicit None. Mappings are merged. A child's list gets the
    parent's missing items at its end; in a ``prepend_parent`` slot all of the parent's items come
    first.
    """
    values = {key: _copy(value) for key, value in parent.items()}
    for key, value in child.items():
        policy = Merge.DEEP if compat else merge_policy(key)
        if key not in parent or policy is Merge.REPLACE:
            values[key] = _copy(value)
        elif policy is Merge.PREPEND_PARENT:
            values[key] = [*as_list(_copy(parent[key])), *as_list(_copy(value))]
        else:
            values[key] = _inherited(value, parent[key])
    return values


def _inherited(child: object, parent: object) -> object:
    if isinstance(child, dict) and isinstance(parent, dict):
        merged = {key: _copy(value) for key, value in parent.items()}
        for key, value in child.items():
            merged[key] = _inherited(value, parent[key]) if key in parent else _copy(value)
        return merged
    items = parent if isinstance(parent, list | set | tuple) else [parent]
    if isinstance(child, list):
        return _with_missing(child, items)
    if isinstance(child, set):
        return child.union(items)
    return _copy(child)


def _with_missing(items: list[object], more: Iterable[object]) -> list[object]:
    result = [_copy(item) for item in items]
    for item in more:
        if item not in result:
            result.append(_copy(item))
    return result
