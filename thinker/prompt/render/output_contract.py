"""Turn the output grammar into a pydantic model and a contract for the answer."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Annotated, Any, cast

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, create_model
from pydantic.errors import PydanticUserError

from thinker.answers.contract import AnswerContract
from thinker.formats.prompts.grammar import (
    Entry,
    Group,
    Leaf,
    Listing,
    OutputSchemaError,
    parse_output_schema,
)
from thinker.formats.prompts.plain import is_model, is_type
from thinker.formats.prompts.problem import DefinitionError
from thinker.prompt.render.sections import Contract, Section

NAME = "AgentlyOutput"


def _build_own_model(name: str, output: Mapping[str, object]) -> type[BaseModel]:
    return _build_model(name, cast(Group, parse_output_schema(output).node))


def output_model(
    output: object,
    build: Callable[[str, Mapping[str, object]], type[BaseModel]] = _build_own_model,
) -> type[BaseModel]:
    """Return the pydantic model of a structured output; a list at the root is its field ``list``.

    Fields without a default are required. A single value in place of a list becomes a list.
    ``build`` replaces the function that builds the model of a mapping.

    Raises:
        TypeError: The output is not a structure.
        OutputSchemaError: The output has a type that JSON does not have.
    """
    if isinstance(output, str) or not isinstance(output, Mapping | Sequence | set):
        if not is_model(output):
            raise TypeError(
                "Unable to generator output model because the output is not a structure data."
            )
        return output
    root = output if isinstance(output, Mapping) else {"list": output}
    try:
        return build(NAME, root)
    except PydanticUserError as error:
        raise OutputSchemaError(
            f"output: {str(error).splitlines()[0]}; use a type that JSON has, or a pydantic model"
        ) from error


def build_answer_contract(sections: Iterable[Section]) -> AnswerContract | None:
    """Return the contract for the answer to these sections; None accepts any text.

    Raises:
        DefinitionError: The output cannot be checked.
    """
    bodies = (section.body for section in sections)
    contract = next((b for b in bodies if isinstance(b, Contract) and b.format == "json"), None)
    if contract is None:
        return None
    try:
        model = output_model(contract.output)
    except (OutputSchemaError, TypeError) as error:
        raise DefinitionError(str(error)) from error
    return AnswerContract(model, contract.ensure_keys, max_retries=contract.max_retries)


def _build_model(name: str, group: Group) -> type[BaseModel]:
    if is_model(group.model):
        return group.model
    fields: dict[str, Any] = {}
    for index, (key, entry) in enumerate(group.fields):
        safe = key.isidentifier() and key[0] != "_" and not hasattr(BaseModel, key)
        fields[key if safe else f"field_{index}"] = (
            _build_type(f"{name}_{key.capitalize()}", entry),
            Field(
                entry.default[0] if entry.default else ...,
                description=entry.description or _find_type_text(entry),
                alias=None if safe else key,
            ),
        )
    # JSON has no NaN, so the reply could not contain it.
    config = ConfigDict(
        extra="allow", populate_by_name=True, protected_namespaces=(), allow_inf_nan=False
    )
    return create_model(name, __config__=config, **fields)


def _build_type(name: str, entry: Entry) -> Any:  # noqa: ANN401 - a type made at run time
    match entry.node:
        case Group():
            return _build_model(name, entry.node)
        case Listing(items):
            item: Any = _build_type(f"{name}_List", items[0]) if items else Any
            return Annotated[list[item], BeforeValidator(_wrap_in_list)]
        case Leaf(type=kind) if is_type(kind):
            return kind
        case Leaf(type=None) if entry.wrapped:
            return None
    return Any


def _find_type_text(entry: Entry) -> str | None:
    """Return the text in place of a type, which describes the field."""
    node = entry.node
    return str(node.type) if isinstance(node, Leaf) and not is_type(node.type) else None


def _wrap_in_list(value: object) -> object:
    return value if isinstance(value, list) else [value]
