"""Subagents with their own prompts: agents that a prompt definition lists among its tools.

One that is not resumable is a tool like any other. Resumable ones are created with
``subagent_create``, live as long as the chat, and take more work with ``subagent_message``.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from pydantic import JsonValue

from orchestrator.extensions.subagents.first_message import (
    append_attachments,
    format_argument,
    format_first_message,
)
from orchestrator.extensions.subagents.spawn_subagent import require_capacity
from orchestrator.journal.db.database import Database
from orchestrator.journal.turns import subagents
from orchestrator.journal.turns.steps import Call
from orchestrator.journal.turns.subagents import SubagentRun, SubagentSpec
from orchestrator.tools.builtin.host_tool import (
    STRINGS,
    DelegatingTool,
    ToolContext,
    ToolFailure,
    build_tool_spec,
    find_subagent_result,
    read_text_argument,
)
from thinker.formats.prompts.tooluse import (
    NOTIFY_PARENT,
    SUBAGENT_CREATE,
    SUBAGENT_MESSAGE,
    Immediate,
    Resumable,
    SubagentUse,
)
from thinker.protocol.messages import JsonObject

INITIATED = "Subagent {name!r} is at work; its result will come as a message. Reference: {id}"
ATTACHMENTS: JsonObject = STRINGS | {"description": "Paths of files; [] for none."}


@dataclass(frozen=True)
class SubagentTool:
    """An agent as a tool: its entry in the prompt, description, schema and time limit."""

    use: SubagentUse
    description: str
    schema: JsonObject | None
    minutes: float

    @property
    def resumable(self) -> Resumable | None:
        """The agent's settings for further messages; None if every call starts a new subagent."""
        return self.use.resumable if isinstance(self.use.resumable, Resumable) else None

    def create_subagent(
        self, db: Database, context: ToolContext, call: Call, name: str, message: str
    ) -> str | None:
        """Create a subagent and begin its work; return None if the call waits for its result."""
        require_capacity(db, context.agent_id)  # first: a refusal must write nothing
        resumable, immediate = self.resumable, self.use.immediate
        settings = SubagentSpec(
            agent=self.use.name,
            name=name,
            keeps=resumable is not None,
            explicit=resumable is not None and resumable.parent_communication == "explicit",
            denied_tools=context.denied_tools,
            timeout_minutes=self.minutes,
            scoped_env=immediate.scoped_env if isinstance(immediate, Immediate) else (),
        )
        chat = context.address.chat_key
        reference = subagents.create(db, call, context.agent_id, settings, context.now, chat)
        self.begin_work(db, context, call, reference, message)
        return self.describe_start(reference, name)

    def begin_work(
        self, db: Database, context: ToolContext, call: Call, reference: str, message: str
    ) -> None:
        """Begin work of an existing subagent."""
        wait = self.use.blocking
        subagents.begin_run(db, call, reference, context.address, message, context.now, wait=wait)

    def describe_start(self, reference: str, name: str) -> str | None:
        """Return the result of a call that does not wait; None if it waits."""
        return None if self.use.blocking else INITIATED.format(name=name, id=reference)

    def require_instance_room(self, db: Database, context: ToolContext) -> None:
        """Raise `ToolFailure` if the agent has reached its maximum of instances in this chat."""
        most = None if self.resumable is None else self.resumable.max_instances
        known = subagents.list_living_subagents(db, context.agent_id, context.address.chat_key)
        same = [reference for reference, spec in known.items() if spec.agent == self.use.name]
        if most is not None and len(same) >= most:
            raise ToolFailure(
                f"{self.use.name!r} already has {most} instances, the maximum;"
                f" use {SUBAGENT_MESSAGE} with one of: {', '.join(same)}"
            )


def build_subagent_tool(helper: SubagentTool) -> DelegatingTool:
    """Return a tool whose every call starts a new subagent."""
    key = helper.use.init_user_message_property or "task"
    use = helper.use.model_copy(update={"init_user_message_property": key})
    about = build_tool_spec(
        use.name, helper.description, {key: "The complete task."}, [key], always=False
    )
    if helper.schema:
        about = about.model_copy(update={"parameters": helper.schema})

    def start_subagent(db: Database, context: ToolContext, call: Call) -> str | None:
        name = read_text_argument(call.arguments, use.init_agent_name_property or "", use.name)
        return helper.create_subagent(
            db, context, call, name, format_first_message(use, call.arguments)
        )

    return DelegatingTool(about, start_subagent)


def build_create_tool(helpers: Mapping[str, SubagentTool]) -> DelegatingTool:
    """Return ``subagent_create`` for the resumable agents of a definition."""

    def start_resumable(db: Database, context: ToolContext, call: Call) -> str | None:
        arguments = call.arguments
        helper = helpers.get(read_text_argument(arguments, "agent"))
        if helper is None:
            raise ToolFailure(f"agent must be one of: {', '.join(sorted(helpers))}")
        message, inputs = _read_message(arguments), arguments.get("arguments")
        name = read_text_argument(arguments, "name")
        if not name:
            raise ToolFailure("name is empty; give the subagent a name")
        helper.require_instance_room(db, context)
        message = message if not inputs else f"{message}\n\n{format_argument(inputs)}"
        return helper.create_subagent(db, context, call, name, message)

    properties: dict[str, str | JsonObject] = {
        "agent": {"type": "string", "enum": [*sorted(helpers)]},
        "message": "Its first task, complete.",
        "attachments": ATTACHMENTS,
        "name": "A name for the subagent.",
    }
    schemas = [helper.schema for helper in helpers.values() if helper.schema]
    if schemas:
        inputs = schemas[0] if len(schemas) == 1 else {"anyOf": cast("JsonValue", schemas)}
        properties["arguments"] = inputs
    every = " ".join(f"{name}: {helper.description}" for name, helper in sorted(helpers.items()))
    about = build_tool_spec(
        SUBAGENT_CREATE,
        f"Start a subagent that stays available for {SUBAGENT_MESSAGE}. {every}",
        properties,
        ["agent", "message", "attachments", "name"],
        always=False,
    )
    return DelegatingTool(about, start_resumable, _append_reference)


def build_message_tool(helpers: Mapping[str, SubagentTool]) -> DelegatingTool:
    """Return ``subagent_message``, which gives a subagent of this chat more work."""

    def start_more_work(db: Database, context: ToolContext, call: Call) -> str | None:
        reference = read_text_argument(call.arguments, "referenceId")
        known = subagents.list_living_subagents(db, context.agent_id, context.address.chat_key)
        found = known.get(reference)
        helper = None if found is None else helpers.get(found.agent or "")
        if found is None or helper is None:
            names = ", ".join(known) or "none"
            raise ToolFailure(f"there is no subagent {reference!r} here; there are: {names}")
        message = _read_message(call.arguments)
        require_capacity(db, context.agent_id)
        helper.begin_work(db, context, call, reference, message)
        return helper.describe_start(reference, found.name)

    about = build_tool_spec(
        SUBAGENT_MESSAGE,
        "Give a subagent that you have created more work; it remembers its earlier work.",
        {
            "referenceId": "The reference of the subagent.",
            "message": "Its next task, complete.",
            "attachments": ATTACHMENTS,
        },
        ["referenceId", "message", "attachments"],
        always=False,
    )
    return DelegatingTool(about, start_more_work, _append_reference)


def _read_message(arguments: JsonObject) -> str:
    """Return the message of a call with its attachments."""
    message, paths = read_text_argument(arguments, "message"), arguments.get("attachments")
    if not message:
        raise ToolFailure("message is empty; write the task")
    if not isinstance(paths, list):
        raise ToolFailure("attachments must be a list of paths; use [] for none")
    return append_attachments(message, [str(path) for path in paths])


def _append_reference(db: Database, run: SubagentRun) -> str | None:
    """Return a subagent's result with its reference; None while it works."""
    result = find_subagent_result(db, run)
    return None if result is None else f"{result}\n\nReference: {run.subagent_id}"


def _notify_parent(db: Database, context: ToolContext, call: Call) -> str:
    message = read_text_argument(call.arguments, "message")
    run = subagents.find_run_of_turn(db, call.turn_id)
    if run is None or not run.spec.explicit:
        raise ToolFailure("this subagent reports automatically; notify_parent is not available")
    if not message:
        raise ToolFailure("message is empty; write what your parent agent has to know")
    notice = subagents.RETURNED.format(id=run.subagent_id, result=message)
    subagents.post_report(db, run, call.idem_key, notice, context.now)
    return "Your parent agent was notified."


NOTIFY = DelegatingTool(
    build_tool_spec(
        NOTIFY_PARENT,
        "Send a message to the agent that you work for. It sees nothing else of your work.",
        {"message": "What the agent has to know."},
        ["message"],
        always=False,
    ),
    _notify_parent,
)
