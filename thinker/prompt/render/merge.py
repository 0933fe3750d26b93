"""How a newer value of a slot meets an older one: pure functions on plain containers."""

from collections.abc import Iterable, Mapping, Sequence

from thinker.formats.prompts.plain import mapped
from thinker.formats.prompts.slots import Compat, Merge, listed, policy

Values = dict[str, object]


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
