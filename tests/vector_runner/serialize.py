"""Write slots as plain data, JSON or YAML, so that a file can hold what code has set.

Python API; no agent uses it::

    slots = Slots({"input": "Hello", "output": {"reply": (str, "One sentence")}})
    text = to_yaml({"slots": to_data(slots.values())})  # the prompt of a definition file
"""

import json
from collections.abc import Mapping

import yaml

from orchestrator.extensions.agently.upstream import Compat
from thinker.formats.prompts.grammar import Entry, Group, Leaf, Listing, parse_output_schema
from thinker.formats.prompts.plain import is_type, to_plain_data


def to_data(values: Mapping[str, object], compat: Compat | None = None) -> dict[str, object]:
    """Return slots as plain data, with ``$type``, ``$desc``, ``$default`` for the grammar's tuples.

    ``compat`` leaves lists as they are, and joins everything after the type to one description.

    Raises:
        TypeError: With ``compat``, a third value that is not text.
    """
    data = dict(values)
    if "output" in data:
        output = data["output"]
        data["output"] = (
            _convert_like_upstream(output)
            if compat
            else _convert_entry(parse_output_schema(output))
        )
    return {str(key): to_plain_data(value) for key, value in data.items()}


def to_json(data: Mapping[str, object]) -> str:
    return json.dumps(data, indent=2, ensure_ascii=False)


def to_yaml(data: Mapping[str, object]) -> str:
    """Return plain data as YAML, in its order."""
    return yaml.safe_dump(dict(data), indent=2, allow_unicode=True, sort_keys=False)


def _convert_entry(entry: Entry) -> object:
    node = entry.node
    match node:
        case Group(fields):
            kind: object = {name: _convert_entry(field) for name, field in fields}
        case Listing(items):
            kind = [_convert_entry(item) for item in items]
        case Leaf(type=value):
            kind = to_plain_data(value)
    if not entry.wrapped and not (isinstance(node, Leaf) and is_type(node.type)):
        return kind
    described = {"$desc": entry.description} if entry.description else {}
    default = {"$default": entry.default[0]} if entry.default else {}
    return {"$type": kind, **described, **default}


def _convert_like_upstream(part: object) -> object:
    if isinstance(part, Mapping):
        return {key: _convert_like_upstream(item) for key, item in part.items()}
    if not isinstance(part, tuple):
        return part
    text = ";".join(item for item in part[1:] if item)
    return {"$type": part[0], **({"$desc": text} if text else {})} if part else []
