"""The ``tools`` of a prompt definition: tools, sub-prompts, handoffs and subagents.

`ToolEntry` holds what the author wrote. Its name decides which of the four `Use` types it becomes
(`Registry.resolve_tool_entry`).
"""

from typing import Annotated, ClassVar, Literal, TypeAlias

from pydantic import Discriminator, Field, JsonValue, StrictBool, StrictStr, Tag

from thinker.formats.prompts import fields
from thinker.protocol.messages import JsonObject

SUBAGENT_CREATE, SUBAGENT_MESSAGE = "subagent_create", "subagent_message"
NOTIFY_PARENT = "notify_parent"
# Tools that agents get without listing them: those of resumable subagents and of their children.
INJECTED = (SUBAGENT_CREATE, SUBAGENT_MESSAGE, NOTIFY_PARENT)


class Immediate(fields.Definition):
    """Settings of a subagent that starts before the first model call."""

    name_env: fields.NonEmptyText | None = None
    description_env: fields.NonEmptyText | None = None
    scoped_env: fields.Names = ()


class Resumable(fields.Definition):
    """Settings of a subagent that stays after its first answer, to receive messages."""

    receives_messages: Annotated[
        Literal["side_a", "side_b"], Field(alias="receives_messages")
    ]  # snake_case in files too, as the Standard Agents specification writes it
    max_instances: fields.PositiveNumber | None = None
    parent_communication: Literal["implicit", "explicit"] = "implicit"


def _find_resumable_tag(value: object) -> str | None:
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
        _find_resumable_tag,
        custom_error_type="false_or_object",
        custom_error_message="must be false or an object",
    ),
]


class ToolUse(fields.Definition):
    """A tool. ``options`` are fixed arguments, hidden from the model; ``${NAME}`` is a variable.

    ``env`` sets variables for the tool; only the definition's own ``env`` ranks lower.
    """

    name: fields.NonEmptyText
    env: fields.Environment = Field(default_factory=dict)
    options: dict[StrictStr, JsonValue] = Field(default_factory=dict)
    kind: ClassVar = "tool"


class DelegatedUse(fields.Definition):
    """A prompt or agent that is given work; its first message may be among the arguments."""

    name: fields.NonEmptyText
    init_user_message_property: fields.NonEmptyText | None = None
    init_attachments_property: fields.NonEmptyText | None = None


class SubpromptUse(DelegatedUse):
    """Another prompt, run as a tool; the flags choose what its result contains."""

    include_text_response: StrictBool = True
    include_tool_calls: StrictBool = True
    include_errors: StrictBool = True
    kind: ClassVar = "subprompt"


class HandoffUse(DelegatedUse):
    """An agent that takes over the chat."""

    kind: ClassVar = "handoff"


class SubagentUse(DelegatedUse):
    """An agent that works for the calling agent."""

    blocking: StrictBool = True
    init_agent_name_property: fields.NonEmptyText | None = None
    immediate: StrictBool | Immediate = False
    optional: fields.NonEmptyText | None = None
    resumable: Resume = None
    kind: ClassVar = "subagent"


Use: TypeAlias = ToolUse | SubpromptUse | HandoffUse | SubagentUse


class ToolEntry(fields.Definition):
    """An entry as the author wrote it, with the options of all four uses."""

    name: fields.NonEmptyText
    env: fields.Environment | None = None
    options: JsonObject | None = None
    include_text_response: StrictBool | None = None
    include_tool_calls: StrictBool | None = None
    include_errors: StrictBool | None = None
    init_user_message_property: fields.NonEmptyText | None = None
    init_attachments_property: fields.NonEmptyText | None = None
    blocking: StrictBool | None = None
    init_agent_name_property: fields.NonEmptyText | None = None
    immediate: StrictBool | Immediate | None = None
    optional: fields.NonEmptyText | None = None
    resumable: Resume = None

    @property
    def is_bare(self) -> bool:
        """Whether the entry is a name without options."""
        return self.model_fields_set == {"name"}

    def list_inapplicable_options(self, use: type[Use]) -> list[str]:
        """Return the options that this kind of use does not have, as files write them."""
        return sorted(
            ToolEntry.model_fields[name].alias or name
            for name in self.model_fields_set - use.model_fields.keys()
        )

    def convert_to_use(self, use: type[Use]) -> Use:
        """Return the entry as this kind of use, without the options of other kinds."""
        known = self.model_fields_set & use.model_fields.keys()
        return use.model_validate({name: getattr(self, name) for name in known})
