"""The front end of layered prompts, and their Python API.

::

    prompt = layered_prompt(
        identity="You coordinate scenario planning.",
        operational_rules=["Route plan-building work to the planner."],
        tools=[search_products, "create_ticket"],
        safety=["Never execute without approval."],
    )
    prompt.text, prompt.cache_key
    definition = PromptDefinition(prompt=prompt.source, ...)
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias, cast

from pydantic import BaseModel, JsonValue, ValidationError

from thinker.formats.prompts import sources
from thinker.formats.prompts.problem import DefinitionError
from thinker.prompt.fingerprint import compute_digest
from thinker.prompt.render import sections as bodies
from thinker.prompt.render.layouts import render_markdown
from thinker.prompt.render.overlay import drop_repeated_rows, overlay_sections
from thinker.prompt.render.parts import Sizes, lower_parts
from thinker.prompt.render.sections import Body, Section, ToolRow
from thinker.protocol.messages import ToolSpec

TextOrLines: TypeAlias = str | Sequence[str] | None
Tool: TypeAlias = ToolSpec | ToolRow | str | Mapping[str, object]

TITLES = {name: name.replace("_", " ").title() for name in sources.Layers.model_fields}


@dataclass(frozen=True)
class LayeredPrompt:
    """A layered prompt: its layers, and their sections with all rows of tools."""

    layers: sources.Layers
    sections: tuple[Section, ...]

    @property
    def text(self) -> str:
        """The prompt as Markdown, as the model reads it."""
        return render_markdown(self.sections)

    @property
    def cache_key(self) -> str:
        """The SHA-256 of the text; the order of keys in structured values does not matter."""
        return compute_digest(self.text)

    @property
    def source(self) -> sources.LayeredSource:
        """The value for the ``prompt`` of a `PromptDefinition`."""
        return sources.LayeredSource(layered=self.layers)

    def with_tools(self, tools: Iterable[Tool]) -> "LayeredPrompt":
        """Return this prompt with more tools in its table; existing rows win over new ones.

        Raises:
            DefinitionError: A value is not a tool, or a tool has no name.
        """
        return replace(self, sections=add_tool_rows(self.sections, _build_rows(tools)))


def layered_prompt(
    *,
    identity: str,
    communication: TextOrLines = None,
    operational_rules: TextOrLines = None,
    tools: Iterable[Tool] | None = None,
    domain_knowledge: object = None,
    safety: TextOrLines = None,
    output_format: object = None,
    examples: object = None,
) -> LayeredPrompt:
    """Build a layered prompt from its sections.

    ``domain_knowledge``, ``output_format`` and ``examples`` take any JSON value or pydantic model;
    an object that a file would read as an include or a variable is a value here.

    Raises:
        DefinitionError: A section has the wrong type, or identity is empty.
    """
    values = {
        "domain_knowledge": _convert_to_json(domain_knowledge),
        "output_format": _convert_to_json(output_format),
        "examples": _convert_to_json(examples),
    }
    try:
        layers = sources.Layers.model_validate(
            {
                "identity": identity,
                "communication": communication,
                "operational_rules": operational_rules,
                "tools": None if tools is None else list(map(_build_note, _build_rows(tools))),
                "safety": safety,
            }
        ).model_copy(update=values)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise DefinitionError(f"layered_prompt: {first['loc'][0]}: {first['msg']}") from error
    try:
        return LayeredPrompt(layers, lower_layers("layered_prompt", layers, {}))
    except KeyError as error:
        raise DefinitionError(f"layered_prompt: include {error} in a file, not here") from error


def read_text_and_key(prompt: str | LayeredPrompt) -> tuple[str, str | None]:
    """Return the system prompt as text, and its cache key or, for a plain string, None.

    Raises:
        TypeError: ``prompt`` is neither a string nor a `LayeredPrompt`.
    """
    if isinstance(prompt, LayeredPrompt):
        return prompt.text, prompt.cache_key
    if not isinstance(prompt, str):
        raise TypeError("prompt must be a string or LayeredPrompt")
    return prompt, None


def lower_layers(name: str, layers: sources.Layers, sizes: Sizes) -> tuple[Section, ...]:
    """Return the sections of the layers that are not empty, in their fixed order."""
    sections: list[Section] = []
    for layer, title in TITLES.items():
        value = getattr(layers, layer)
        parts = tuple(_iter_parts(value))
        body = None if parts else _build_body(value)
        if body is not None:
            sections.append(Section(layer, body, name, title=title))
        elif inserted := lower_parts(name, parts, sizes):
            heading = Section(layer, bodies.Text(""), name, title=title)
            sections += (heading, replace(inserted[0], attached=True), *inserted[1:])
    return tuple(sections)


def add_tool_rows(sections: Sequence[Section], rows: Iterable[ToolRow]) -> tuple[Section, ...]:
    """Add rows to the tool table of the sections; existing rows win over new ones."""
    table = bodies.ToolTable(drop_repeated_rows(rows))
    if not table.rows:
        return tuple(sections)
    runtime = Section("tools", table, "runtime", title=TITLES["tools"])
    return overlay_sections(sections, (runtime,), tuple(TITLES))


def _iter_parts(value: object) -> Iterator[sources.Part]:
    """Yield the parts of a layer with includes or variables; nothing for other layers."""
    if isinstance(value, sources.TextPart | sources.IncludePart | sources.EnvPart):
        yield value
    elif isinstance(value, tuple) and any(not isinstance(x, str | sources.ToolNote) for x in value):
        for number, line in enumerate(value):
            mark = "\n- " if number else "- "
            yield sources.TextPart(content=mark + line if isinstance(line, str) else mark)
            if not isinstance(line, str):
                yield line


def _build_body(value: object) -> Body | None:
    if isinstance(value, str):
        return bodies.Text(value.strip()) if value.strip() else None
    if value is None or value in ((), [], {}):
        return None
    if not isinstance(value, tuple):
        return bodies.Structured(cast("JsonValue", value))  # validated by Layers
    if isinstance(value[0], sources.ToolNote):
        return bodies.ToolTable(
            drop_repeated_rows(ToolRow(n.name, n.description, n.approval) for n in value)
        )
    lines = tuple(line.strip() for line in value if line.strip())
    return bodies.Bullets(lines) if lines else None


def _build_rows(tools: Iterable[Tool]) -> list[ToolRow]:
    # A string and a mapping are iterable too, but never a list of tools.
    if isinstance(tools, str | Mapping) or not isinstance(tools, Iterable):
        raise DefinitionError(f"the tools of the prompt must be a list, not {tools!r:.80}")
    return [_build_row(tool) for tool in tools]


def _build_row(tool: Tool) -> ToolRow:
    if isinstance(tool, ToolRow):
        row = tool
    elif isinstance(tool, ToolSpec):
        row = ToolRow(tool.name, tool.description)
    elif isinstance(tool, str):
        row = ToolRow(tool)
    elif not isinstance(tool, Mapping):
        raise DefinitionError(f"a tool must be a name or an object with a name, not {tool!r:.80}")
    else:
        cells = (tool.get(cell) for cell in ("name", "description", "approval"))
        row = ToolRow(*("" if cell is None else str(cell) for cell in cells))
    if not row.name.strip():
        raise DefinitionError(f"a tool of the prompt has no name; add one: {tool!r:.80}")
    return row


def _build_note(row: ToolRow) -> sources.ToolNote:
    return sources.ToolNote(name=row.name, description=row.description, approval=row.approval)


def _convert_to_json(value: object) -> object:
    """Return a structured section as plain JSON; pydantic models become their fields."""
    try:
        return json.loads(json.dumps(value, default=_dump_model, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise DefinitionError(f"a structured section must be JSON: {error}") from error


def _dump_model(value: object) -> object:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    raise TypeError(f"{type(value).__name__} is not JSON; use lists, mappings and scalars")
