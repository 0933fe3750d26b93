"""get_profile and update_profile: named fields about the user, and the agent's persona."""

import orjson
from pydantic import JsonValue

from orchestrator.journal.db.database import Database
from orchestrator.journal.memory import profile
from orchestrator.journal.memory.profile import ProfileError
from orchestrator.journal.turns import taint
from orchestrator.tools.builtin.host_tool import (
    ToolContext,
    ToolFailure,
    journal_tool,
    quoted,
    text,
)
from thinker.protocol.messages import JsonObject, SideEffect

CHANGES = 20  # newest changes that the history shows


@journal_tool(
    "Read the user's profile: name, contact data, preferences, the agent's persona.",
    {
        "path": "Such as persona.name or pets[0]; default: everything.",
        "history": {"type": "boolean", "description": "Also show the latest changes."},
    },
    side_effect=SideEffect.PURE,
    private=True,
    keywords="profile, persona, contact data",
)
def get_profile(db: Database, context: ToolContext, arguments: JsonObject) -> str:
    path = text(arguments, "path")
    try:
        keys = profile.keys_of(path)
        found = profile.lookup(profile.get(db, context.memory), keys)
        origins = [profile.origin(db, context.memory, keys)]
    except ProfileError as error:
        raise ToolFailure(str(error)) from error
    shown = "Nothing is there." if found is None else _json(found)
    if arguments.get("history") is not True:
        return quoted(shown, origins)
    changes = profile.changes(db, context.memory, CHANGES)
    writers = {item.source.removeprefix("turn ") for item in changes}
    origins += [taint.load(db, turn).origin for turn in writers]
    lines = (f"- {item.path}: {item.before} -> {item.after} ({item.source})" for item in changes)
    return quoted("\n".join((shown, "Last changes, newest first:", *lines)), origins)


@journal_tool(
    "Set one field of the user's profile; null removes it. The text at persona.system_prompt"
    " replaces the agent's base prompt from the next turn on.",
    {"path": "Such as persona.name or pets[0]; created if missing.", "value": {}},
    ["path", "value"],
    keywords="profile, persona, contact data, call me, call you, call yourself, your name,"
    " system prompt",
)
def update_profile(db: Database, context: ToolContext, arguments: JsonObject) -> str:
    path, value = text(arguments, "path"), arguments.get("value")
    try:
        changed = profile.update(
            db, context.memory, path, value, context.source, context.now, context.origin
        )
    except ProfileError as error:
        raise ToolFailure(str(error)) from error
    now = profile.lookup(changed, profile.keys_of(path))
    return f"Removed {path}." if value is None else f"{path} is now {_json(now)}"


def _json(value: JsonValue) -> str:
    return orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()
