"""get_profile and update_profile: named fields about the user, and the agent's persona."""

import apsw
import orjson
from pydantic import JsonValue

from orchestrator.journal.memory import profile
from orchestrator.journal.memory.profile import ProfileError
from orchestrator.tools.builtin.host_tool import ToolContext, ToolFailure, journal_tool, text
from thinker.protocol.messages import JsonObject, SideEffect

CHANGES = 20  # newest changes that the history shows


@journal_tool(
    "Read the user's profile: name, contact data, preferences, the agent's persona.",
    {
        "path": "The field, such as persona.name or pets[0]; everything if omitted.",
        "history": {"type": "boolean", "description": "Also show the latest changes."},
    },
    side_effect=SideEffect.PURE,
    always=False,
)
def get_profile(db: apsw.Connection, context: ToolContext, arguments: JsonObject) -> str:
    path = text(arguments, "path")
    try:
        found = profile.lookup(profile.get(db, context.memory), profile.keys_of(path))
    except ProfileError as error:
        raise ToolFailure(str(error)) from error
    shown = "Nothing is there." if found is None else _json(found)
    if arguments.get("history") is not True:
        return shown
    changes = profile.changes(db, context.memory, CHANGES)
    lines = (f"- {item.path}: {item.before} -> {item.after} ({item.source})" for item in changes)
    return "\n".join((shown, "Last changes, newest first:", *lines))


@journal_tool(
    "Set one field of the user's profile; null removes it. The text at persona.system_prompt"
    " replaces the agent's base prompt from the next turn on.",
    {
        "path": "The field, such as persona.name or pets[0]; created if missing.",
        "value": {"description": "Any JSON value; null removes the field."},
    },
    ["path", "value"],
    always=False,
)
def update_profile(db: apsw.Connection, context: ToolContext, arguments: JsonObject) -> str:
    path, value = text(arguments, "path"), arguments.get("value")
    try:
        changed = profile.update(db, context.memory, path, value, context.source, context.now)
    except ProfileError as error:
        raise ToolFailure(str(error)) from error
    now = profile.lookup(changed, profile.keys_of(path))
    return f"Removed {path}." if value is None else f"{path} is now {_json(now)}"


def _json(value: JsonValue) -> str:
    return orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()
