"""Subagents with prompts of their own: agents that a prompt definition lists among its tools.

One that is not resumable is a tool like any other. Resumable ones are created with
``subagent_create``, live as long as the chat, and take more work with ``subagent_message``.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from pydantic import JsonValue

from orchestrator.journal.db.database import Database
from orchestrator.journal.turns import subagents
from orchestrator.journal.turns.steps import Call
from orchestrator.journal.turns.subagents import SubagentRun, SubagentSpec
from orchestrator.tools.builtin.host_tool import (
    STRINGS,
    DelegatingTool,
    ToolContext,
    ToolFailure,
    spec,
    subagent_result,
    text,
)
from orchestrator.tools.builtin.spawn_subagent import require_capacity
from thinker.formats.prompts.subprompt import as_text, first_message, with_attached
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
    """An agent that is a tool: its entry in the prompt, its description, schema and time limit."""

    use: SubagentUse
    description: str
    schema: JsonObject | None
    minutes: float

    @property
    def resumable(self) -> Resumable | None:
        """Its settings for further messages; None if every call starts a new subagent."""
        return self.use.resumable if isinstance(self.use.resumable, Resumable) else None

    def create(
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
        self.begin(db, context, call, reference, message)
        return self.answer(reference, name)

    def begin(
        self, db: Database, context: ToolContext, call: Call, reference: str, message: str
    ) -> None:
        """Begin work of an existing subagent."""
        wait = self.use.blocking
        subagents.begin(db, call, reference, context.address, message, context.now, wait=wait)

    def answer(self, reference: str, name: str) -> str | None:
        """Return the result of a call that does not wait; None if it waits."""
        return None if self.use.blocking else INITIATED.format(name=name, id=reference)

    def require_room(self, db: Database, context: ToolContext) -> None:
        """Raise `ToolFailure` if the agent has as many instances in this chat as it may have."""
        most = None if self.resumable is None else self.resumable.max_instances
        known = subagents.living(db, context.agent_id, context.address.chat_key)
        same = [reference for reference, spec in known.items() if spec.agent == self.use.name]
        if most is not None and len(same) >= most:
            raise ToolFailure(
                f"{self.use.name!r} may have {most} instances; use {SUBAGENT_MESSAGE}"
                f" with one of: {', '.join(same)}"
            )


def subagent(helper: SubagentTool) -> DelegatingTool:
    """Return a tool whose every call starts a new subagent."""
    key = helper.use.init_user_message_property or "task"
    use = helper.use.model_copy(update={"init_user_message_property": key})
    about = spec(use.name, helper.description, {key: "The complete task."}, [key], always=False)
    if helper.schema:
        about = about.model_copy(update={"parameters": helper.schema})

    def start(db: Database, context: ToolContext, call: Call) -> str | None:
        name = text(call.arguments, use.init_agent_name_property or "", use.name)
        return helper.create(db, context, call, name, first_message(use, call.arguments))

    return DelegatingTool(about, start)


def create_tool(helpers: Mapping[str, SubagentTool]) -> DelegatingTool:
    """Return ``subagent_create`` for the resumable agents of a definition."""

    def start(db: Database, context: ToolContext, call: Call) -> str | None:
        arguments = call.arguments
        helper = helpers.get(text(arguments, "agent"))
        if helper is None:
            raise ToolFailure(f"agent must be one of: {', '.join(sorted(helpers))}")
        message, inputs = _message(arguments), arguments.get("arguments")
        name = text(arguments, "name")
        if not name:
            raise ToolFailure("name is empty; give the subagent a name")
        helper.require_room(db, context)
        message = message if not inputs else f"{message}\n\n{as_text(inputs)}"
        return helper.create(db, context, call, name, message)

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
    about = spec(
        SUBAGENT_CREATE,
        f"Start a subagent that stays available for {SUBAGENT_MESSAGE}. {every}",
        properties,
        ["agent", "message", "attachments", "name"],
        always=False,
    )
    return DelegatingTool(about, start, _with_reference)


def message_tool(helpers: Mapping[str, SubagentTool]) -> DelegatingTool:
    """Return ``subagent_message``, which gives a subagent of this chat more work."""

    def start(db: Database, context: ToolContext, call: Call) -> str | None:
        reference = text(call.arguments, "referenceId")
        known = subagents.living(db, context.agent_id, context.address.chat_key)
        found = known.get(reference)
        helper = None if found is None else helpers.get(found.agent or "")
        if found is None or helper is None:
            names = ", ".join(known) or "none"
            raise ToolFailure(f"there is no subagent {reference!r} here; there are: {names}")
        message = _message(call.arguments)
        require_capacity(db, context.agent_id)
        helper.begin(db, context, call, reference, message)
        return helper.answer(reference, found.name)

    about = spec(
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
    return DelegatingTool(about, start, _with_reference)


def _message(arguments: JsonObject) -> str:
    """Return the message of a call with its attachments."""
    message, paths = text(arguments, "message"), arguments.get("attachments")
    if not message:
        raise ToolFailure("message is empty; write the task")
    if not isinstance(paths, list):
        raise ToolFailure("attachments must be a list of paths; use [] for none")
    return with_attached(message, [str(path) for path in paths])


def _with_reference(db: Database, run: SubagentRun) -> str | None:
    """Return the result of a subagent and its reference; None while it works."""
    result = subagent_result(db, run)
    return None if result is None else f"{result}\n\nReference: {run.subagent_id}"


def _notify(db: Database, context: ToolContext, call: Call) -> str:
    message = text(call.arguments, "message")
    run = subagents.by_turn(db, call.turn_id)
    if run is None or not run.spec.explicit:
        raise ToolFailure("this subagent reports automatically; notify_parent is not available")
    if not message:
        raise ToolFailure("message is empty; write what your parent agent has to know")
    notice = subagents.RETURNED.format(id=run.subagent_id, result=message)
    subagents.tell(db, run, call.idem_key, notice, context.now)
    return "Your parent agent was notified."


NOTIFY = DelegatingTool(
    spec(
        NOTIFY_PARENT,
        "Send a message to the agent that you work for. It sees nothing else of your work.",
        {"message": "What the agent has to know."},
        ["message"],
        always=False,
    ),
    _notify,
)
