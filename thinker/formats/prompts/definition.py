"""A prompt definition (seed 000): the public model, for files and for Python alike.

::

    PromptDefinition(
        name="support",
        tool_description="Answers customers",
        model="inherit",
        prompt=[IncludePart(prompt="house_rules"), TextPart(content="Be kind.")],
        tools=["search_docs", ToolEntry(name="summarize", include_tool_calls=False)],
        required_schema=SupportRequest,  # a pydantic model or a JSON schema
    )

Fields are camelCase in files and snake_case in Python.
"""

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BeforeValidator, Field, StrictBool, StrictStr, ValidationError
from pydantic_core import ErrorDetails, PydanticCustomError

from thinker.formats.prompts.fields import (
    Definition,
    Environment,
    Name,
    Names,
    Positive,
    Schema,
    Tokens,
    Words,
)
from thinker.formats.prompts.problem import DefinitionProblem
from thinker.formats.prompts.sources import Source
from thinker.formats.prompts.tooluse import ToolEntry

INHERIT = "inherit"  # the model reference that stands for the using agent's own model
IMAGES_KEPT = 10  # seed 000 §1.2, recentImageThreshold
ToolChoice: TypeAlias = Literal["auto", "none", "required"]

# pydantic's error types in the words of the rules above; others keep their own name.
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


class Variable(Definition):
    """A variable that the prompt or its tools use; a secret never reaches the prompt's text."""

    name: Words
    type: Literal["text", "secret"]
    required: StrictBool
    description: StrictStr


class ReasoningSettings(Definition):
    """Extended thinking: how much, whether it is returned, whether history keeps it."""

    effort: Literal["low", "medium", "high"] | None = None
    max_tokens: Tokens | None = None
    exclude: StrictBool = False
    include: StrictBool = False


def _entry(value: object) -> object:
    if isinstance(value, str):
        if not value.strip():
            raise PydanticCustomError("non_empty_string", "must not be empty")
        return {"name": value}
    if not isinstance(value, dict | ToolEntry):
        raise PydanticCustomError("string_or_object", "must be a name or an object with a name")
    return value


Tools: TypeAlias = tuple[Annotated[ToolEntry, BeforeValidator(_entry)], ...]


class PromptDefinition(Definition):
    """How requests to a model are made: words, model, tools, history and inputs."""

    name: Name
    tool_description: Words
    prompt: Source
    model: StrictStr  # "inherit", or a name in "models" of agents.json
    include_chat: StrictBool = False
    include_past_tools: StrictBool = False
    parallel_tool_calls: StrictBool = False
    tool_choice: ToolChoice = "auto"
    required_schema: Schema | None = None
    tools: Tools | None = None  # None: whatever the agent may use
    variables: tuple[Variable, ...] = ()
    env: Environment = Field(default_factory=dict)
    reasoning: ReasoningSettings | None = None
    recent_image_threshold: Positive = IMAGES_KEPT
    hooks: Names | None = None


def read(value: Any) -> tuple[PromptDefinition | None, tuple[DefinitionProblem, ...]]:  # noqa: ANN401 - any JSON
    """The definition that a JSON value is, or everything that is wrong with its form."""
    try:
        return PromptDefinition.model_validate(value, by_alias=True, by_name=False), ()
    except ValidationError as error:
        return None, tuple(_problem(detail) for detail in error.errors(include_url=False))


def _problem(detail: ErrorDetails) -> DefinitionProblem:
    # Marks of unions stand in angle brackets; they are no part of the file.
    path = tuple(part for part in detail["loc"] if not str(part).startswith("<"))
    kind = detail["type"]
    if kind == "discriminator":
        path = (*path, "type")
    message = detail["msg"].replace("Input should", "must").replace("Field required", "is missing")
    return DefinitionProblem(path, RULES.get(kind, kind), message)
