"""The output grammar as a pydantic model, against which an answer is checked."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, cast

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, create_model
from pydantic.errors import PydanticUserError

from thinker.answers.contract import AnswerContract
from thinker.formats.prompts.grammar import Entry, Group, Leaf, Listing, OutputSchemaError, read
from thinker.formats.prompts.plain import is_model, is_type
from thinker.formats.prompts.problem import DefinitionError
from thinker.formats.prompts.slots import Compat
from thinker.prompt.render.agently import output_model as agently_model
from thinker.prompt.render.sections import Contract, Section

NAME = "AgentlyOutput"


def output_model(output: object, compat: Compat | None = None) -> type[BaseModel]:
    """The model of a structured output; a list at the root is its field ``list``.

    A field is required unless the grammar gives it a default. One value where a list is asked for
    becomes a list of it. ``compat`` makes everything optional, as upstream does.

    Raises:
        TypeError: the output is no structure.
        OutputSchemaError: a type that no answer can be checked against.
    """
    if isinstance(output, str) or not isinstance(output, Mapping | Sequence | set):
        if not is_model(output):
            raise TypeError(
                "Unable to generator output model because the output is not a structure data."
            )
        return output
    root = output if isinstance(output, Mapping) else {"list": output}
    try:
        if compat:
            return agently_model.output_model(NAME, root)
        return _model(NAME, cast(Group, read(root).node))
    except PydanticUserError as error:
        raise OutputSchemaError(
            f"output: {str(error).splitlines()[0]}; use a type that JSON has, or a pydantic model"
        ) from error


def answer_contract(sections: Iterable[Section]) -> AnswerContract | None:
    """What the answer to a prompt of these sections is checked against; None is any text.

    Raises:
        DefinitionError: the output cannot be checked.
    """
    bodies = (section.body for section in sections)
    asked = next((b for b in bodies if isinstance(b, Contract) and b.format == "json"), None)
    if asked is None:
        return None
    try:
        model = output_model(asked.output)
    except (OutputSchemaError, TypeError) as error:
        raise DefinitionError(str(error)) from error
    return AnswerContract(model, asked.ensure_keys, max_retries=asked.max_retries)


def _model(name: str, group: Group) -> type[BaseModel]:
    if is_model(group.model):
        return group.model
    fields: dict[str, Any] = {}
    for index, (key, entry) in enumerate(group.fields):
        safe = key.isidentifier() and key[0] != "_" and not hasattr(BaseModel, key)
        fields[key if safe else f"field_{index}"] = (
            _type(f"{name}_{key.capitalize()}", entry),
            Field(
                entry.default[0] if entry.default else ...,
                description=entry.description or _words(entry),
                alias=None if safe else key,
            ),
        )
    config = ConfigDict(extra="allow", populate_by_name=True, protected_namespaces=())
    return create_model(name, __config__=config, **fields)


def _type(name: str, entry: Entry) -> Any:  # noqa: ANN401 - a type made at run time
    match entry.node:
        case Group():
            return _model(name, entry.node)
        case Listing(items):
            item: Any = _type(f"{name}_List", items[0]) if items else Any
            return Annotated[list[item], BeforeValidator(_listed)]
        case Leaf(type=kind) if is_type(kind):
            return kind
        case Leaf(type=None) if entry.wrapped:
            return None
    return Any


def _words(entry: Entry) -> str | None:
    """Words in the place of a type say what the field is."""
    node = entry.node
    return str(node.type) if isinstance(node, Leaf) and not is_type(node.type) else None


def _listed(value: object) -> object:
    return value if isinstance(value, list) else [value]
