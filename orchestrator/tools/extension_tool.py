'''Make tools from Python functions, for `Extension.list_tools`.

    from typing import Annotated, Literal

    from pydantic import Field

    from orchestrator.tools.extension_tool import Caller, ToolFailure, define_tool

    @define_tool(side_effect="pure", private=False)
    async def find_train(
        caller: Caller,
        place: Annotated[str, Field(description="A station, such as Hamburg Hbf.")],
        seat: Literal["window", "aisle"] = "window",
    ) -> str:
        """Find the next train with a free seat."""
        if place not in STATIONS:
            raise ToolFailure(f"there is no station {place!r}; there are: {', '.join(STATIONS)}")
        return await ask_railway(place, seat, caller.timezone)

The function gives the tool its name, its description (the docstring) and its parameters, each with
a type that pydantic knows and, if it is optional, a default. A parameter of the type `Caller` is
hidden from the model; it says for whom a call runs. The function may be ``async`` or not, and
returns text, or anything else that can be written as JSON.

The function runs in a thread of the daemon's process, an ``async`` one in its own event loop: it
may wait, but cannot use the daemon's objects. An exception becomes a result that the model reads;
raise `ToolFailure` with a message for it.
'''

import asyncio
import copy
import inspect
import re
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import field, fields, make_dataclass
from functools import partial
from typing import Any, Literal, TypeAlias, get_type_hints

from pydantic import ConfigDict, TypeAdapter, ValidationError
from pydantic.errors import PydanticUserError
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import to_json

from orchestrator.tools.builtin.host_tool import (
    TOOL_TIMEOUT,
    Caller,
    ExtensionTool,
    ToolFailure,
)
from thinker.formats.word_lists import parse_words
from thinker.protocol.messages import JsonObject, Origin, SideEffect, ToolSpec

__all__ = ["Caller", "ToolFailure", "define_tool"]
NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")  # what every provider accepts
Function: TypeAlias = Callable[..., Awaitable[object] | object]
Kind: TypeAlias = Literal["pure", "keyed", "non_idempotent"]


def define_tool(
    *,
    side_effect: Kind = "non_idempotent",
    private: bool = True,
    carries: bool = True,
    origin: Origin = "tool",
    seconds: float = TOOL_TIMEOUT,
    keywords: str = "",
) -> Callable[[Function], ExtensionTool]:
    """Make a tool of a function.

    Args:
        side_effect: what a second run of the same call would do. ``"pure"``: nothing, as it only
            reads. ``"keyed"``: nothing, as the function knows a call by ``caller.key``.
            ``"non_idempotent"``: all of it again; so a call during which the daemon died is not
            repeated, and the model is told that it is unknown whether it ran.
        private: whether results contain private data. A turn that has read private data and
            others' text must ask before it sends anything out.
        carries: whether a call could carry its arguments out: by sending them, or by fetching an
            address that contains them.
        origin: who may have written the results. ``"tool"`` and ``"web"`` are not trusted;
            ``"operator"`` is for results that hold no text from elsewhere.
        seconds: time after which a call is given up; a function that goes on is not ended.
        keywords: words that bring the tool, with commas between them; without any, the tool is
            among those that are ranked by what a message says.

    Raises:
        TypeError: the function cannot be a tool; the message says why.
    """

    def build_tool(function: Function) -> ExtensionTool:
        name = getattr(function, "__name__", "")
        if not NAME.fullmatch(name):
            raise TypeError(
                f"the tool name {name!r} must be 1 to 64 characters from a-z, A-Z, 0-9 and _"
            )
        description = inspect.getdoc(function)
        if not description:
            raise TypeError(f"the tool {name!r} has no docstring; say what it does, for the model")
        arguments, schema = _build_arguments(name, function)
        return ExtensionTool(
            spec=ToolSpec(
                name=name,
                description=description,
                parameters=schema,
                side_effect=SideEffect(side_effect),
                keywords=tuple(parse_words(keywords)),
            ),
            function=partial(_run_function, function, arguments, _find_caller(function)),
            private=private,
            carries=carries,
            origin=origin,
            seconds=seconds,
        )

    return build_tool


class _UntitledSchema(GenerateJsonSchema):
    """Schemas without titles, which would repeat the names."""

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ANN401 - pydantic's own
        del schema
        return False


def _build_arguments(name: str, function: Function) -> tuple[TypeAdapter[Any], JsonObject]:
    """Return the model of a call's arguments and their JSON Schema."""
    try:
        hints = get_type_hints(function, include_extras=True)
        made = make_dataclass(
            "Arguments",
            [
                (parameter.name, hints[parameter.name], _copy_default(parameter))
                for parameter in _list_parameters(function)
            ],
            namespace={"__pydantic_config__": ConfigDict(extra="forbid")},
            kw_only=True,
        )
        arguments: TypeAdapter[object] = TypeAdapter(made)
        schema = arguments.json_schema(schema_generator=_UntitledSchema)
    except KeyError as error:
        raise TypeError(
            f"the parameter {error} of the tool {name!r} has no type annotation; add one"
        ) from error
    except (NameError, TypeError, PydanticUserError) as error:
        raise TypeError(f"the parameters of the tool {name!r} cannot be used: {error}") from error
    return arguments, {key: schema[key] for key in schema if key not in ("title", "description")}


def _list_parameters(function: Function) -> Iterator[inspect.Parameter]:
    """Yield the parameters that models see; raise `TypeError` for unnamed ones."""
    caller = _find_caller(function)
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise TypeError(
                f"{parameter}: *args, **kwargs and positional-only parameters are not supported;"
                " name each parameter"
            )
        if parameter.name != caller:
            yield parameter


def _find_caller(function: Function) -> str:
    """Return the name of the parameter for the `Caller`; empty if there is none."""
    hints = get_type_hints(function).items()
    return next((name for name, kind in hints if kind is Caller and name != "return"), "")


def _copy_default(parameter: inspect.Parameter) -> Any:  # noqa: ANN401 - a field or what stands for it
    """Return a field with the parameter's default, copied for each call."""
    default = parameter.default
    if default is parameter.empty:
        return field()
    if type(default).__hash__ is None:
        return field(default_factory=partial(copy.deepcopy, default))
    return field(default=default)


def _run_function(
    function: Function, arguments: TypeAdapter[Any], named: str, caller: Caller, given: JsonObject
) -> str:
    """Return the text of a call's result.

    Raises:
        ToolFailure: the arguments do not fit.
        Exception: whatever the function raises.
    """
    try:
        checked = arguments.validate_python(given)
    except ValidationError as error:
        raise ToolFailure(f"{_format_faults(error)}; correct the call") from error
    values = {found.name: getattr(checked, found.name) for found in fields(checked)}
    if named:
        values[named] = caller
    found = function(**values)
    if inspect.isawaitable(found):
        found = asyncio.run(_wait_for(found))
    return found if isinstance(found, str) else to_json(found).decode()


async def _wait_for(found: Awaitable[object]) -> object:
    return await found


def _format_faults(error: ValidationError) -> str:
    faults = error.errors(include_url=False, include_context=False, include_input=False)
    return "; ".join(f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in faults)
