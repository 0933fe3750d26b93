"""Tools that are Python functions, and toolkits: `define_tool`, `define_toolkit`."""

import inspect
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from anyio import to_thread
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel
from pydantic_core import to_json

from orchestrator.extensions.runtime.runtime_errors import RuntimeSpecError
from thinker.formats.prompts.grammar import OutputSchemaError, parse_type
from thinker.formats.prompts.plain import is_model, is_type
from thinker.prompt.render.output_contract import output_model
from thinker.prompt.render.sections import ToolRow
from thinker.protocol.messages import JsonObject, ToolSpec

NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")  # tool names that every provider accepts
HANDLER_PARAMETERS = 2  # the arguments and the context

Needs: TypeAlias = Callable[[JsonObject], bool]
Approval: TypeAlias = Literal["never", "always"] | Needs
InputSchema: TypeAlias = Mapping[str, object] | type[BaseModel]


@dataclass(frozen=True)
class RunContext:
    """The second argument of a tool: the tenant and the agent for which it runs."""

    agent: str
    tenant: str
    call_id: str


Handler: TypeAlias = Callable[[Any, RunContext], Awaitable[object] | object]


@dataclass(frozen=True, kw_only=True)
class DefinedTool(ToolRow):
    """A tool: its row in the prompt's table, its JSON Schema and its function.

    ``needs`` returns False for the arguments of a call that no one has to approve. ``model`` checks
    the arguments; ``as_model`` passes them to the function as an instance of it.
    """

    parameters: JsonObject
    handler: Handler
    needs: Needs
    model: type[BaseModel] | None = None
    as_model: bool = False

    @property
    def spec(self) -> ToolSpec:
        """The tool's description for a model."""
        return ToolSpec(name=self.name, description=self.description, parameters=self.parameters)

    async def __call__(self, arguments: JsonObject, context: RunContext) -> str:
        """Run the function; return its result: text as it is, anything else as JSON.

        Raises:
            Exception: whatever the function raises; `ValueError` for arguments that do not fit.
        """
        given: object = arguments
        if self.model is not None:
            checked = self.model.model_validate(arguments)
            given = checked if self.as_model else checked.model_dump(by_alias=True)
        if inspect.iscoroutinefunction(self.handler):
            found = await self.handler(given, context)
        else:
            found = await to_thread.run_sync(self.handler, given, context)
            found = await found if inspect.isawaitable(found) else found
        return found if isinstance(found, str) else to_json(found).decode()


def define_tool(
    *, name: str, description: str, input_schema: InputSchema, approval: Approval = "never"
) -> Callable[[Handler], DefinedTool]:
    """Return a decorator that makes a tool of a function ``(args, ctx)``, which may be ``async``.

    Args:
        name: letters, digits, ``_`` and ``-``.
        description: the text for the model.
        input_schema: ``{"query": str, "limit": (int, "at most so many", 10)}`` in the output
            grammar, a JSON Schema with ``"type": "object"``, or a pydantic model, whose instance
            the function then gets.
        approval: ``"always"``, ``"never"``, or a function that gets the arguments of a call; a
            person must approve it unless the function returns False.

    Raises:
        RuntimeSpecError: an argument cannot be used; raised also for a function that does not
            take two arguments.
    """
    check_name("tool", name)
    if not isinstance(description, str):
        raise RuntimeSpecError(
            f"the description of the tool {name!r} is {description!r:.60}; say what it does"
        )
    if not callable(approval) and approval not in ("never", "always"):
        raise RuntimeSpecError(
            f'the approval of the tool {name!r} is {approval!r}; use "never", "always" or a '
            "function of the arguments"
        )
    parameters, model = _build_schema(name, input_schema)

    def build_tool(handler: Handler) -> DefinedTool:
        try:
            inspect.signature(handler).bind(*range(HANDLER_PARAMETERS))
        except (TypeError, ValueError) as error:
            raise RuntimeSpecError(
                f"the function of the tool {name!r} must take two arguments: def {name}(args, ctx)"
            ) from error
        return DefinedTool(
            name,
            description,
            "conditional" if callable(approval) else approval,
            parameters=parameters,
            handler=handler,
            needs=approval if callable(approval) else lambda _: approval == "always",
            model=model,
            as_model=is_model(input_schema),
        )

    return build_tool


class RuntimePart(BaseModel):
    """Base of the parts of a specification: frozen, camelCase as JSON, no unknown fields."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=True
    )


class ToolkitSpec(RuntimePart):
    """A toolkit that an agent uses, whole or narrowed to some tools.

    ``ToolkitSpec(id="catalog", config={"tools": ["search"]})`` is narrowed to one.
    """

    id: str
    config: Mapping[Literal["tools"], Sequence[str]] = Field(default_factory=dict)


@dataclass(frozen=True)
class Toolkit:
    """Tools that agents take together, under one id."""

    id: str
    tools: tuple[DefinedTool, ...]

    def narrowed(self, spec: ToolkitSpec) -> tuple[DefinedTool, ...]:
        """Return the tools that ``spec`` names, in the toolkit's order.

        Raises:
            RuntimeSpecError: the toolkit has no tool of that name.
        """
        wanted = spec.config.get("tools")
        if wanted is None:
            return self.tools
        names = [tool.name for tool in self.tools]
        if unknown := [name for name in wanted if name not in names]:
            raise RuntimeSpecError(
                f"the toolkit {self.id!r} has no tool {unknown[0]!r}; it has {', '.join(names)}"
            )
        return tuple(tool for tool in self.tools if tool.name in wanted)


def define_toolkit(kit_id: str, tools: Iterable[DefinedTool]) -> Toolkit:
    """Make a toolkit, for the ``toolkits`` of `define_runtime`.

    Raises:
        RuntimeSpecError: a value is not a tool, or two have one name.
    """
    return Toolkit(kit_id, require_tools(f"the toolkit {kit_id!r}", tools))


def require_tools(owner: str, tools: Iterable[DefinedTool]) -> tuple[DefinedTool, ...]:
    """Return ``tools`` as a tuple, after checking them; ``owner`` names them in errors.

    Raises:
        RuntimeSpecError: a value is not a tool, or two have one name.
    """
    found = tuple(tools)
    for tool in found:
        if not isinstance(tool, DefinedTool):
            raise RuntimeSpecError(
                f"a tool of {owner} is {tool!r:.60}, which @define_tool has not made; a name alone "
                "belongs in layered_prompt(tools=…)"
            )
    names = [tool.name for tool in found]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise RuntimeSpecError(f"{owner} has two tools {twice!r}; rename one of them")
    return found


def check_name(kind: str, name: str) -> None:
    """Raise `RuntimeSpecError` unless providers accept the name."""
    if type(name) is not str or not NAME.fullmatch(name):
        raise RuntimeSpecError(
            f"the {kind} name {name!r} cannot be used; use 1 to 64 letters, digits, _ and -"
        )


def _build_schema(name: str, given: InputSchema) -> tuple[JsonObject, type[BaseModel] | None]:
    """Return the JSON Schema of a tool's arguments, and the model that checks them."""
    if is_model(given):
        return given.model_json_schema(), given
    if not isinstance(given, Mapping):
        raise RuntimeSpecError(
            f"the input_schema of the tool {name!r} is {given!r:.60}; write a mapping such as "
            '{"query": str}, a JSON Schema or a pydantic model'
        )
    if given.get("type") == "object":
        return dict(given), None  # type: ignore[arg-type]  # JSON, as the author says
    for key, value in given.items():
        _check_field(name, key, value)
    try:
        model = output_model(given)
        schema: JsonObject = model.model_json_schema()
    except (OutputSchemaError, TypeError, ValueError, ValidationError) as error:
        raise RuntimeSpecError(f"the input_schema of the tool {name!r}: {error}") from error
    schema.pop("title", None)
    return schema, model


def _check_field(name: str, key: str, value: object) -> None:
    """Refuse a string in place of a type: it would accept any value."""
    kind = value[0] if isinstance(value, tuple) and value else value
    if isinstance(kind, Mapping | list | set) or is_type(kind):
        return
    try:
        parse_type(str(kind))
        better = f"write {kind} without quotes"
    except OutputSchemaError:
        better = f'write a type, such as (str, "{kind}")'
    raise RuntimeSpecError(
        f"the input_schema of the tool {name!r}: {key!r} is {kind!r:.60}; {better}"
    )
