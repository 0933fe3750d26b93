"""The ``tools`` of a prompt definition (seed 000 §3).

The four forms overlap in writing; what an entry is, its name decides. `ToolEntry` is what was
written, the other types are what it means once the name is resolved.
"""

from typing import Annotated, ClassVar, Literal, TypeAlias

from pydantic import Discriminator, Field, JsonValue, StrictBool, StrictStr, Tag

from thinker.formats.prompts.fields import Definition, Environment, Names, Positive, Words
from thinker.protocol.messages import JsonObject

SUBAGENT_CREATE, SUBAGENT_MESSAGE = "subagent_create", "subagent_message"
NOTIFY_PARENT = "notify_parent"
# Tools that no definition names: they are there because of what it does name, or of its caller.
INJECTED = (SUBAGENT_CREATE, SUBAGENT_MESSAGE, NOTIFY_PARENT)


class Immediate(Definition):
    """How a subagent is started before the first step."""

    name_env: Words | None = None
    description_env: Words | None = None
    scoped_env: Names = ()


class Resumable(Definition):
    """A subagent that lives on and takes messages."""

    receives_messages: Annotated[
        Literal["side_a", "side_b"], Field(alias="receives_messages")
    ]  # the seed writes this one name in snake_case
    max_instances: Positive | None = None
    parent_communication: Literal["implicit", "explicit"] = "implicit"


def _resumable(value: object) -> str | None:
    if value is None:
        return "<unset>"
    if value is False:
        return "<no>"
    return "<yes>" if isinstance(value, dict | Resumable) else None


Resume: TypeAlias = Annotated[
    Annotated[None, Tag("<unset>")]
    | Annotated[Literal[False], Tag("<no>")]
    | Annotated[Resumable, Tag("<yes>")],
    Discriminator(
        _resumable,
        custom_error_type="false_or_object",
        custom_error_message="must be false or an object",
    ),
]


class ToolUse(Definition):
    """A tool. ``options`` are arguments that the model cannot set, with ``${NAME}`` for a variable.

    ``env`` are the tool's variables, as far as they are not set at a place that wins.
    """

    name: Words
    env: Environment = Field(default_factory=dict)
    options: dict[StrictStr, JsonValue] = Field(default_factory=dict)
    kind: ClassVar = "tool"


class SubpromptUse(Definition):
    """Another prompt, run as a tool; the flags say what of its run the result holds."""

    name: Words
    include_text_response: StrictBool = True
    include_tool_calls: StrictBool = True
    include_errors: StrictBool = True
    init_user_message_property: Words | None = None
    init_attachments_property: Words | None = None
    kind: ClassVar = "subprompt"


class HandoffUse(Definition):
    """An agent that takes over the chat."""

    name: Words
    init_user_message_property: Words | None = None
    init_attachments_property: Words | None = None
    kind: ClassVar = "handoff"


class SubagentUse(Definition):
    """An agent that works for this one."""

    name: Words
    blocking: StrictBool = True
    init_user_message_property: Words | None = None
    init_attachments_property: Words | None = None
    init_agent_name_property: Words | None = None
    immediate: StrictBool | Immediate = False
    optional: Words | None = None
    resumable: Resume = None
    kind: ClassVar = "subagent"


Use: TypeAlias = ToolUse | SubpromptUse | HandoffUse | SubagentUse


class ToolEntry(Definition):
    """An entry as it was written: any option of any form, checked for form alone."""

    name: Words
    env: Environment | None = None
    options: JsonObject | None = None
    include_text_response: StrictBool | None = None
    include_tool_calls: StrictBool | None = None
    include_errors: StrictBool | None = None
    init_user_message_property: Words | None = None
    init_attachments_property: Words | None = None
    blocking: StrictBool | None = None
    init_agent_name_property: Words | None = None
    immediate: StrictBool | Immediate | None = None
    optional: Words | None = None
    resumable: Resume = None

    @property
    def bare(self) -> bool:
        """Whether nothing but a name was written."""
        return self.model_fields_set == {"name"}

    def foreign(self, use: type[Use]) -> list[str]:
        """The options, as written in files, that this kind of entry does not have."""
        return sorted(
            ToolEntry.model_fields[name].alias or name
            for name in self.model_fields_set - use.model_fields.keys()
        )

    def as_use(self, use: type[Use]) -> Use:
        """The entry as this kind; options of other kinds are left out."""
        known = self.model_fields_set & use.model_fields.keys()
        return use.model_validate({name: getattr(self, name) for name in known})
