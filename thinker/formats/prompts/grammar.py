"""The output grammar: read the schema of an answer, as authors write it, into one tree.

A mapping is an object, a list or set is an array, and a tuple is ``(type or schema, description,
default)``. A pydantic model stands for its fields. Any other value is text for the model. Files
have no types, so ``{"$type": "list[str]", "$desc": …, "$default": …}`` replaces the tuple there.
"""

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, Union, get_args, get_origin

from thinker.formats.prompts.plain import is_model, is_type, list_described_fields, to_plain_data

MARKS = {"$type", "$desc", "$default"}
NAMES: dict[str, object] = {"Any": Any, "None": None, "NoneType": None}
NAMES |= {kind.__name__: kind for kind in (str, int, float, bool, dict, list)}


class OutputSchemaError(Exception):
    """The output cannot be used; the message says what to write instead."""


@dataclass(frozen=True)
class Leaf:
    """A type, or text in place of a type."""

    type: object


@dataclass(frozen=True)
class Group:
    """An object: its fields in order, and the pydantic model they come from, if any."""

    fields: tuple[tuple[str, "Entry"], ...]
    model: object = None


@dataclass(frozen=True)
class Listing:
    """An array; ``items`` are the schemas of its items."""

    items: tuple["Entry", ...]


Node: TypeAlias = Leaf | Group | Listing


@dataclass(frozen=True)
class Entry:
    """A node of the schema with its description and default.

    ``wrapped`` says whether the author wrote a tuple, ``described`` whether the tuple has a
    description, perhaps an empty one. ``default`` contains the default value, if any.
    """

    node: Node
    wrapped: bool = False
    described: bool = False
    description: str = ""
    default: tuple[object, ...] = ()


def parse_output_schema(schema: object, models: tuple[object, ...] = ()) -> Entry:
    """Return the tree of a schema; inside ``models``, each of these models stays a name.

    Raises:
        OutputSchemaError: A ``$type`` is not a type of the grammar.
    """
    if isinstance(schema, tuple) and schema:
        return _parse_tuple_schema(schema, models)
    if isinstance(schema, Mapping):
        if schema and "$type" in schema and schema.keys() <= MARKS:
            return _parse_tuple_schema(_expand_marks(schema), models)
        return Entry(
            Group(
                tuple((str(key), parse_output_schema(item, models)) for key, item in schema.items())
            )
        )
    items = _list_item_schemas(schema)
    if items is not None:
        return Entry(Listing(tuple(parse_output_schema(item, models) for item in items)))
    if is_model(schema) and schema not in models:
        inside, fields = (*models, schema), list_described_fields(schema)
        entries = ((name, _parse_tuple_schema(field, inside)) for name, field in fields.items())
        return Entry(Group(tuple(entries), model=schema))
    return Entry(Leaf(schema if is_type(schema) else to_plain_data(schema)))


def parse_type(text: str) -> object:
    """Return the type that ``text`` names: ``list[int]``, ``dict[str, int]``, ``str | None``.

    Raises:
        OutputSchemaError: The text is not a type of the grammar.
    """
    try:
        return _evaluate_node(ast.parse(text.strip(), mode="eval").body)
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError) as error:
        raise OutputSchemaError(
            f"$type {text[:60]!r} is not a type; write str, int, float, bool, Any, list[…], "
            "dict[str, …], Literal['a', 'b'] or alternatives with |"
        ) from error


def _list_item_schemas(schema: object) -> list[object] | None:
    """Return the item schemas of a list, a set or ``list[Model]``; None for anything else."""
    if isinstance(schema, list):
        return schema
    if isinstance(schema, set):
        return sorted(schema, key=str)
    of_models = get_origin(schema) is list and any(map(is_model, get_args(schema)))
    return list(get_args(schema)) if of_models else None


def _parse_tuple_schema(schema: tuple[object, ...], models: tuple[object, ...]) -> Entry:
    return Entry(
        parse_output_schema(schema[0], models).node,
        wrapped=True,
        described=len(schema) > 1,
        description=str(to_plain_data(schema[1])) if len(schema) > 1 and schema[1] else "",
        default=schema[2:3],
    )


def _expand_marks(marked: Mapping[object, object]) -> tuple[object, ...]:
    kind = marked["$type"]
    kind = parse_type(kind) if isinstance(kind, str) else kind
    if "$default" in marked:
        return kind, marked.get("$desc") or "", marked["$default"]
    return (kind, marked["$desc"]) if marked.get("$desc") else (kind,)


def _evaluate_node(node: ast.expr) -> object:
    match node:
        case ast.Name(id=name) if name in NAMES:
            return NAMES[name]
        case ast.Constant(value=None):
            return None
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            one: Any = _evaluate_node(left)
            return one | _evaluate_node(right)
        case ast.Subscript(value=ast.Name(id=name), slice=inner):
            return _evaluate_subscript(name, inner)
    raise ValueError(ast.dump(node)[:60])


def _evaluate_subscript(name: str, inner: ast.expr) -> object:
    if name == "Literal":
        return Literal[tuple(_evaluate_constant(item) for item in _list_elements(inner))]
    items: Any = tuple(_evaluate_node(item) for item in _list_elements(inner))
    if name == "Optional" and len(items) == 1:
        return Union[items[0], None]  # noqa: UP007 - values, not annotations
    if name == "list" and len(items) == 1:
        return list[items[0]]
    if name == "dict" and len(items) == len(("key", "value")):
        return dict[items[0], items[1]]
    raise ValueError(name)


def _list_elements(node: ast.expr) -> list[ast.expr]:
    return node.elts if isinstance(node, ast.Tuple) else [node]


def _evaluate_constant(node: ast.expr) -> object:
    if isinstance(node, ast.Constant) and isinstance(node.value, str | int | bool):
        return node.value
    if isinstance(node, ast.Name):  # prompts show Literal values without quotes
        return node.id
    raise ValueError(ast.dump(node)[:60])
