"""Agents that are tools of a prompt and work for its agent: subagents with prompts of their own.

One that is not resumable is a tool like any other. Resumable ones are made with
``subagent_create``, live on with the chat, and take more work with ``subagent_message``.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

import apsw
from pydantic import JsonValue

from orchestrator.journal.turns import subagents
from orchestrator.journal.turns.steps import Call
from orchestrator.journal.turns.subagents import Spec
from orchestrator.tools.builtin.host_tool import DelegatingTool, ToolContext, ToolFailure, text
from orchestrator.tools.builtin.spawn_subagent import begun, require_capacity, subagent_outcome
from thinker.formats.prompts.subprompt import as_text, first_message, with_attached
from thinker.formats.prompts.tooluse import (
    NOTIFY_PARENT,
    SUBAGENT_CREATE,
    SUBAGENT_MESSAGE,
    Immediate,
    Resumable,
    SubagentUse,
)
from thinker.protocol.messages import JsonObject, SideEffect, ToolSpec

INITIATED = "Subagent {name!r} is at work; its result will come as a message. Reference: {id}"
PATHS: JsonObject = {"type": "array", "items": {"type": "string"}}
ATTACHMENTS: JsonObject = PATHS | {"description": "Paths of files; [] when there are none."}


@dataclass(frozen=True)
class SubagentTool:
    """An agent as a definition has it work: its entry, what is said of it, how long it may take."""

    use: SubagentUse
    description: str
    schema: JsonObject | None
    minutes: float

    @property
    def resumable(self) -> Resumable | None:
        """How it lives on; None when every call is a new one."""
        return self.use.resumable if isinstance(self.use.resumable, Resumable) else None

    @property
    def immediate(self) -> Immediate:
        """What is said of one that is begun before the first step."""
        return self.use.immediate if isinstance(self.use.immediate, Immediate) else Immediate()


def subagent(helper: SubagentTool) -> DelegatingTool:
    """The tool that an agent is whose every call is a new subagent."""
    asked = helper.use.init_user_message_property or "task"
    use = helper.use.model_copy(update={"init_user_message_property": asked})
    task: JsonObject = {"type": "string", "description": "What to do, complete."}
    own: JsonObject = {"type": "object", "properties": {asked: task}, "required": [asked]}

    def outcome(db: apsw.Connection, context: ToolContext, call: Call) -> str | None:
        if begun(db, call):
            return subagent_outcome(db, call)
        name = text(call.arguments, use.init_agent_name_property or "", use.name)
        return _create(db, context, call, helper, name, first_message(use, call.arguments))

    return DelegatingTool(_tool(use.name, helper.description, helper.schema or own), begun, outcome)


def create_tool(helpers: Mapping[str, SubagentTool]) -> DelegatingTool:
    """``subagent_create`` for the resumable agents of a definition."""

    def outcome(db: apsw.Connection, context: ToolContext, call: Call) -> str | None:
        if begun(db, call):
            return _referred(db, call)
        given = call.arguments
        helper = helpers.get(text(given, "agent"))
        if helper is None:
            raise ToolFailure(f"agent must be one of: {', '.join(sorted(helpers))}")
        message, inputs = _message(given), given.get("arguments")
        name = text(given, "name")
        if not name:
            raise ToolFailure("name is empty; give the subagent a name")
        _room(db, context, helper)
        told = message if not inputs else f"{message}\n\n{as_text(inputs)}"
        return _create(db, context, call, helper, name, told)

    properties: dict[str, JsonValue] = {
        "agent": {"type": "string", "enum": [*sorted(helpers)]},
        "message": {"type": "string", "description": "Its first work, complete."},
        "attachments": ATTACHMENTS,
        "name": {"type": "string", "description": "What to call it."},
    }
    schemas = [helper.schema for helper in helpers.values() if helper.schema]
    if schemas:
        inputs = schemas[0] if len(schemas) == 1 else {"anyOf": cast("JsonValue", schemas)}
        properties["arguments"] = inputs
    every = " ".join(f"{name}: {helper.description}" for name, helper in sorted(helpers.items()))
    about = f"Have a new subagent work for you that stays for {SUBAGENT_MESSAGE}. {every}"
    required: list[JsonValue] = ["agent", "message", "attachments", "name"]
    schema: JsonObject = {"type": "object", "properties": properties, "required": required}
    return DelegatingTool(_tool(SUBAGENT_CREATE, about, schema), begun, outcome)


def message_tool(helpers: Mapping[str, SubagentTool]) -> DelegatingTool:
    """``subagent_message``: more work for one that was created in this chat."""

    def outcome(db: apsw.Connection, context: ToolContext, call: Call) -> str | None:
        if begun(db, call):
            return _referred(db, call)
        reference = text(call.arguments, "referenceId")
        known = subagents.living(db, context.agent_id, context.address.chat_key)
        spec = known.get(reference)
        helper = None if spec is None else helpers.get(spec.agent or "")
        if spec is None or helper is None:
            names = ", ".join(known) or "none"
            raise ToolFailure(f"there is no subagent {reference!r} here; there are: {names}")
        told = _message(call.arguments)
        require_capacity(db, context.agent_id)
        return _begin(db, context, call, helper, reference, spec.name, told)

    properties: JsonObject = {
        "referenceId": {"type": "string", "description": "The reference of the subagent."},
        "message": {"type": "string", "description": "What it is to do now."},
        "attachments": ATTACHMENTS,
    }
    required: list[JsonValue] = ["referenceId", "message", "attachments"]
    schema: JsonObject = {"type": "object", "properties": properties, "required": required}
    about = "Give a subagent that you have created more work; it remembers what it did before."
    return DelegatingTool(_tool(SUBAGENT_MESSAGE, about, schema), begun, outcome)


def _create(
    db: apsw.Connection,
    context: ToolContext,
    call: Call,
    helper: SubagentTool,
    name: str,
    told: str,
) -> str | None:
    require_capacity(db, context.agent_id)  # before anything is written: a refusal leaves nothing
    lives = helper.resumable
    spec = Spec(
        agent=helper.use.name,
        name=name,
        keeps=lives is not None,
        explicit=lives is not None and lives.parent_communication == "explicit",
        denied_tools=context.denied_tools,
        timeout_minutes=helper.minutes,
        scoped_env=helper.immediate.scoped_env,
    )
    chat = context.address.chat_key
    subagent_id = subagents.create(db, call, context.agent_id, spec, context.now, chat)
    return _begin(db, context, call, helper, subagent_id, name, told)


def _begin(
    db: apsw.Connection,
    context: ToolContext,
    call: Call,
    helper: SubagentTool,
    subagent_id: str,
    name: str,
    told: str,
) -> str | None:
    """What the call comes to at once: None when it waits."""
    wait = helper.use.blocking
    subagents.begin(db, call, subagent_id, context.address, told, context.now, wait=wait)
    return None if wait else INITIATED.format(name=name, id=subagent_id)


def _room(db: apsw.Connection, context: ToolContext, helper: SubagentTool) -> None:
    """An agent may have so many instances in a chat."""
    most = None if helper.resumable is None else helper.resumable.max_instances
    known = subagents.living(db, context.agent_id, context.address.chat_key)
    same = [reference for reference, spec in known.items() if spec.agent == helper.use.name]
    if most is not None and len(same) >= most:
        raise ToolFailure(
            f"{helper.use.name!r} may have {most} instances; use {SUBAGENT_MESSAGE}"
            f" with one of: {', '.join(same)}"
        )


def _message(given: JsonObject) -> str:
    """The message of a call, with what is attached to it."""
    message, paths = text(given, "message"), given.get("attachments")
    if not message:
        raise ToolFailure("message is empty; write what is to be done")
    if not isinstance(paths, list):
        raise ToolFailure("attachments must be a list of paths; [] when there are none")
    return with_attached(message, [str(path) for path in paths])


def _referred(db: apsw.Connection, call: Call) -> str | None:
    """What the work has come to, with the name by which more can be asked."""
    run, result = subagents.of_call(db, call.turn_id, call.seq), subagent_outcome(db, call)
    return result if run is None or result is None else f"{result}\n\nReference: {run.subagent_id}"


def _tool(name: str, description: str, parameters: JsonObject) -> ToolSpec:
    return ToolSpec(
        name=name,
        description=description,
        parameters=parameters,
        side_effect=SideEffect.LOCAL_TX,
    )


def _notify(db: apsw.Connection, context: ToolContext, call: Call) -> str:
    message = text(call.arguments, "message")
    run = subagents.by_turn(db, call.turn_id)
    if run is None or not run.spec.explicit:
        raise ToolFailure("nobody waits for word of this work")
    if not message:
        raise ToolFailure("message is empty; write what your parent has to know")
    told = subagents.RETURNED.format(id=run.subagent_id, result=message)
    subagents.tell(db, run, call.idem_key, told, context.now)
    return "Your parent has been told."


NOTIFY = DelegatingTool(
    _tool(
        NOTIFY_PARENT,
        "Tell the agent that you work for something; it hears nothing else of your work.",
        {
            "type": "object",
            "properties": {"message": {"type": "string", "description": "What it has to know."}},
            "required": ["message"],
        },
    ),
    lambda _db, _call: False,
    _notify,
)
