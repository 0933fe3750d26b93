"""The container in which slots are collected before they become a prompt (seed 001, §2)."""

from collections.abc import Mapping
from textwrap import dedent
from typing import Any

from thinker.formats.prompts.slots import Compat, Merge, SlotPrompt, policy
from thinker.prompt.render.merge import Values, copied, inherit, merge
from thinker.prompt.render.placeholders import substitute


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
