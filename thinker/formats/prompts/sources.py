"""The forms of ``prompt``: a string, parts, layered sections or slots.

The structure tells them apart::

    prompt: You are a helpful assistant.
    prompt: [{type: text, content: "Be brief. "}, {type: include, prompt: house_rules}]
    prompt: {layered: {identity: You plan., safety: [Ask first.]}}
    prompt: {slots: {system: You plan., output: {plan: {$type: "list[str]"}}}, parent: base}

An include part is allowed wherever text is, so any form can include any other by name.
"""

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Annotated, Literal, TypeAlias

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    JsonValue,
    StrictStr,
    Tag,
)

from thinker.formats.prompts import fields
from thinker.formats.prompts.slots import SlotPrompt


class TextPart(fields.Definition):
    """Static text."""

    type: Literal["text"] = "text"
    content: StrictStr


class IncludePart(fields.Definition):
    """The whole prompt of another definition, inserted here."""

    type: Literal["include"] = "include"
    prompt: fields.NonEmptyText


class EnvPart(fields.Definition):
    """The value of a variable of type ``text``, inserted here when a turn begins."""

    type: Literal["env"] = "env"
    property: fields.NonEmptyText


def _find_part_tag(value: object) -> str | None:
    """Return the union tag of a part that comes from a file or from Python."""
    kind = value.get("type") if isinstance(value, dict) else getattr(value, "type", None)
    return f"<{kind}>" if kind in ("text", "include", "env") else None


_object = fields.build_rule_validator(
    "part_object",
    'must be an object with a "type"',
    lambda value: isinstance(value, dict | fields.Definition),
)
Part: TypeAlias = Annotated[
    Annotated[
        Annotated[TextPart, Tag("<text>")]
        | Annotated[IncludePart, Tag("<include>")]
        | Annotated[EnvPart, Tag("<env>")],
        Discriminator(
            _find_part_tag,
            custom_error_type="discriminator",
            custom_error_message='must be "text", "include" or "env"',
        ),
    ],
    BeforeValidator(_object),
]


Line: TypeAlias = Annotated[
    Annotated[StrictStr, Tag("<words>")] | Annotated[Part, Tag("<part>")],
    Discriminator(lambda x: "<part>" if isinstance(x, dict | fields.Definition) else "<words>"),
]
Lines: TypeAlias = Annotated[
    Annotated[tuple[Line, ...], Tag("<list>")] | Annotated[Line, Tag("<line>")],
    Discriminator(lambda value: "<list>" if isinstance(value, list | tuple) else "<line>"),
]


class ToolNote(fields.Definition):
    """A row in the tool table of a layered prompt."""

    name: fields.NonEmptyText
    description: StrictStr = ""
    approval: StrictStr = ""


def _parse_part_or_value(value: object) -> object:
    """Return an object with exactly the fields of an include or a variable as that part."""
    if isinstance(value, dict) and value.keys() in ({"type", "prompt"}, {"type", "property"}):
        kinds: dict[str, type[fields.Definition]] = {"include": IncludePart, "env": EnvPart}
        kind = kinds.get(str(value["type"]))
        return value if kind is None else kind.model_validate(value)
    return value


Structure: TypeAlias = Annotated[
    IncludePart | EnvPart | JsonValue, BeforeValidator(_parse_part_or_value)
]


_not_empty = fields.build_rule_validator(
    "non_empty_string",
    "must say who the agent is",
    lambda value: not isinstance(value, str) or bool(value.strip()),
)


class Layers(fields.Definition):
    """The eight sections of a layered prompt, in order; empty ones are left out.

    The names of sections are snake_case in files, too.
    """

    model_config = ConfigDict(alias_generator=None)

    identity: Annotated[Line, AfterValidator(_not_empty)]
    communication: Lines | None = None
    operational_rules: Lines | None = None
    tools: tuple[Annotated[ToolNote, fields.build_name_validator(ToolNote)], ...] | None = None
    domain_knowledge: Structure = None
    safety: Lines | None = None
    output_format: Structure = None
    examples: Structure = None


class LayeredSource(fields.Definition):
    """A prompt written as layered sections."""

    layered: Layers


def parse_part(value: object) -> Part | None:
    """Return the value of a slot if it is an include or a variable; None otherwise."""
    part = _parse_part_or_value(value)
    return part if isinstance(part, IncludePart | EnvPart) else None


def _require_valid_slots(value: dict[str, object]) -> dict[str, object]:
    """Return the values unchanged after checking that they form a prompt."""
    SlotPrompt.model_validate(value)
    return value


class SlotSource(fields.Definition):
    """A prompt written as slots; it inherits the slots of the prompt named ``parent``."""

    slots: Annotated[dict[str, object], AfterValidator(_require_valid_slots)]
    parent: fields.NonEmptyText | None = None


def _find_source_tag(value: object) -> str | None:
    if isinstance(value, str):
        return "<string>"
    if isinstance(value, list | tuple):
        return "<parts>"
    if isinstance(value, LayeredSource) or (isinstance(value, dict) and "layered" in value):
        return "<layered>"
    if isinstance(value, SlotSource) or (isinstance(value, dict) and "slots" in value):
        return "<slots>"
    return None


Source: TypeAlias = Annotated[
    Annotated[StrictStr, Tag("<string>")]
    | Annotated[tuple[Part, ...], Tag("<parts>")]
    | Annotated[LayeredSource, Tag("<layered>")]
    | Annotated[SlotSource, Tag("<slots>")],
    Discriminator(
        _find_source_tag,
        custom_error_type="string_or_parts",
        custom_error_message='must be text, a list of parts, {"layered": …} or {"slots": …}',
    ),
]


def list_included_names(source: Source) -> Iterator[str]:
    """Yield the names of the definitions that a source includes directly, in order."""
    for part in list_parts(source):
        if isinstance(part, IncludePart):
            yield part.prompt
    if isinstance(source, SlotSource) and source.parent is not None:
        yield source.parent


def list_parts(source: Source) -> Iterator[Part]:
    values: Iterable[object] = source if isinstance(source, tuple) else ()
    if isinstance(source, SlotSource):
        values = map(parse_part, source.slots.values())
    elif isinstance(source, LayeredSource):
        layers = (getattr(source.layered, name) for name in Layers.model_fields)
        values = chain.from_iterable(x if isinstance(x, tuple) else (x,) for x in layers)
    for value in values:
        if isinstance(value, TextPart | IncludePart | EnvPart):
            yield value
