"""The model of a prompt definition, for files and for Python code.

Fields are camelCase in files and snake_case in Python. ``required_schema`` takes a JSON Schema or
a pydantic model.
"""

from collections.abc import Iterator
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BeforeValidator, Field, StrictBool, StrictStr, ValidationError
from pydantic_core import ErrorDetails

from thinker.formats.prompts import fields
from thinker.formats.prompts.problem import DefinitionProblem
from thinker.formats.prompts.sources import Source
from thinker.formats.prompts.substitution import list_variable_names
from thinker.formats.prompts.tooluse import ToolEntry
from thinker.protocol.messages import EffortLevel

INHERIT = "inherit"  # as ``model``: the model of the agent that uses the definition
DEFAULT_RECENT_IMAGES = (
    10  # the default of recentImageThreshold in the Standard Agents specification
)
ToolChoice: TypeAlias = Literal["auto", "none", "required"]

# Rule names for pydantic's error types; other types keep their name.
RULES = {
    "missing": "required",
    "string_type": "string",
    "literal_error": "enum",
    "bool_type": "boolean",
    "dict_type": "object",
    "model_type": "object",
    "model_attributes_type": "object",
    "tuple_type": "array",
    "extra_forbidden": "unknown_field",
}
WORDING = {
    "Input should": "must",
    "Field required": "is missing",
    "Extra inputs are not permitted": "is an unknown field; correct its name or remove it",
}


class Variable(fields.Definition):
    """A variable of the prompt or its tools; a secret never appears in the prompt's text."""

    name: fields.NonEmptyText
    type: Literal["text", "secret"]
    required: StrictBool
    description: StrictStr


class ReasoningSettings(fields.Definition):
    """Extended thinking: its effort, and whether the reply and the history contain it."""

    effort: EffortLevel | None = None
    max_tokens: fields.TokenCount | None = None
    exclude: StrictBool = False
    include: StrictBool = False


Entry: TypeAlias = Annotated[
    ToolEntry, fields.build_name_validator(ToolEntry), BeforeValidator(fields.not_blank)
]


class PromptDefinition(fields.Definition):
    """A prompt: its text, model, tools, history settings and inputs."""

    name: fields.Name
    tool_description: fields.NonEmptyText
    prompt: Source
    model: StrictStr  # INHERIT, or a name in "models" of agents.json
    include_chat: StrictBool = False
    include_past_tools: StrictBool = False
    parallel_tool_calls: StrictBool = False
    tool_choice: ToolChoice = "auto"
    required_schema: fields.Schema | None = None
    tools: tuple[Entry, ...] | None = None  # None: all tools of the agent
    variables: tuple[Variable, ...] = ()
    env: fields.Environment = Field(default_factory=dict)
    reasoning: ReasoningSettings | None = None
    recent_image_threshold: fields.PositiveNumber = DEFAULT_RECENT_IMAGES
    hooks: fields.Names | None = None

    def list_text_variables(self) -> Iterator[str]:
        """Yield the name in each ``${NAME}`` of the text, the layers or the slots."""
        yield from list_variable_names(self.model_dump(include={"prompt"}))


def parse_definition(value: Any) -> tuple[PromptDefinition | None, tuple[DefinitionProblem, ...]]:  # noqa: ANN401 - any JSON
    """Validate a JSON value; return the definition, or None and every problem of its form."""
    try:
        return PromptDefinition.model_validate(value, by_alias=True, by_name=False), ()
    except ValidationError as error:
        return None, tuple(_build_problem(detail) for detail in error.errors(include_url=False))


def _build_problem(detail: ErrorDetails) -> DefinitionProblem:
    # Tags of unions are in angle brackets; they are not part of the file.
    path = tuple(part for part in detail["loc"] if not str(part).startswith("<"))
    kind = detail["type"]
    if kind == "discriminator":
        path = (*path, "type")
    message = detail["msg"]
    for given, better in WORDING.items():
        message = message.replace(given, better)
    return DefinitionProblem(path, RULES.get(kind, kind), message)
