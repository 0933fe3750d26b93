"""The values of slots: dotted keys, second values of one slot, and what a child inherits."""

from collections.abc import Callable, Iterable, Mapping
from textwrap import dedent
from typing import Any, TypeAlias

from thinker.formats.prompts.plain import map_items
from thinker.formats.prompts.slots import Merge, find_merge_policy, wrap_in_list

Values: TypeAlias = dict[str, object]
Policies: TypeAlias = Callable[[str], Merge]  # the policy of the slot with a name


def collect_values(slots: Mapping[str, object]) -> Values:
    """Return slots with their text stripped of indentation and surrounding white space.

    A dotted key (``info.user.name``) becomes mappings; a second value of a slot is merged.

    Raises:
        TypeError: The path of a key leads through a value that is not a mapping.
    """
    values: Values = {}
    for key, value in slots.items():
        set_value(values, key, dedent(value).strip() if isinstance(value, str) else value)
    return values


def set_value(
    values: Values, key: str, value: object, policies: Policies = find_merge_policy
) -> None:
    """Set a slot, or merge the value with the older one as the slot's policy says."""
    holder, last = find_holder(values, key)
    if last in holder and policies(key.split(".", maxsplit=1)[0]) is not Merge.REPLACE:
        holder[last] = _merge_values(holder[last], value, older_leads=True)
    else:
        holder[last] = copy_containers(value)


def find_holder(values: Values, key: str) -> tuple[dict[str, Any], str]:
    """Return the mapping that holds the last name of a dotted key, and that name."""
    *path, last = key.split(".")
    holder: dict[str, Any] = values
    for index, part in enumerate(path):
        inner = holder.setdefault(part, {})
        if not isinstance(inner, dict):
            raise TypeError(
                f"Can not set value to path '{key}' "
                f"because '{'.'.join(path[: index + 1])}' is not a dictionary."
            )
        holder = inner
    return holder, last


def inherit_values(child: Values, parent: Values, policies: Policies = find_merge_policy) -> Values:
    """Return the values of a child with the inherited ones; neither mapping is changed.

    The child's value wins, even an explicit None. Mappings are merged. A child's list gets the
    parent's missing items at its end; in a ``prepend_parent`` slot all of the parent's items come
    first.
    """
    values = {key: copy_containers(value) for key, value in parent.items()}
    for key, value in child.items():
        policy = policies(key)
        if key not in parent or policy is Merge.REPLACE:
            values[key] = copy_containers(value)
        elif policy is Merge.PREPEND_PARENT:
            values[key] = [
                *wrap_in_list(values[key]),
                *wrap_in_list(copy_containers(value)),
            ]
        else:
            values[key] = _merge_values(parent[key], value, older_leads=False)
    return values


def copy_containers(value: object) -> object:
    """Return a copy of a value with copied containers at every depth; other objects are shared."""
    if isinstance(value, dict):
        return {key: copy_containers(item) for key, item in value.items()}
    if isinstance(value, list | set | tuple):
        return map_items(value, copy_containers)
    return value


def _merge_values(older: object, newer: object, *, older_leads: bool) -> object:
    """Merge mappings key by key, and collections by adding missing items to the one that leads.

    Any other pair becomes the newer value.
    """
    if isinstance(older, dict) and isinstance(newer, Mapping):
        merged = {key: copy_containers(item) for key, item in older.items()}
        for key, item in newer.items():
            merged[key] = (
                _merge_values(older[key], item, older_leads=older_leads)
                if key in older
                else copy_containers(item)
            )
        return merged
    leading, other = (older, newer) if older_leads else (newer, older)
    items: Iterable[object] = other if isinstance(other, list | set | tuple) else [other]
    if isinstance(leading, list):
        result = [copy_containers(item) for item in leading]
        for item in items:
            if item not in result:
                result.append(copy_containers(item))
        return result
    return leading.union(items) if isinstance(leading, set) else copy_containers(newer)
