"""get_profile and update_profile: named fields about the user, and the agent's persona."""

import orjson
from pydantic import JsonValue

from orchestrator.extensions.memory import profile_changes
from orchestrator.journal.db.database import Database
from orchestrator.journal.memory import profile
from orchestrator.journal.memory.profile import ProfileError
from orchestrator.journal.turns import taint
from orchestrator.tools.builtin.host_tool import (
    ToolContext,
    ToolFailure,
    journal_tool,
    mark_quoted_text,
    read_text_argument,
)
from thinker.protocol.messages import JsonObject, SideEffect

CHANGES = 20  # newest changes that the history shows


def _touches_prompt(arguments: JsonObject) -> bool:
    """Return whether a call of update_profile changes what later turns follow."""
    try:
        return arguments.get("value") is None or profile_changes.touches_prompt(
            str(arguments.get("path"))
        )
    except ProfileError:
        return False  # the call fails anyway


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
    path = read_text_argument(arguments, "path")
    try:
        keys = profile.parse_path(path)
        found = profile.get_value(profile.load_profile(db, context.memory), keys)
        origins = [profile.load_value_origin(db, context.memory, keys)]
    except ProfileError as error:
        raise ToolFailure(str(error)) from error
    shown = "Nothing is there." if found is None else _format_json(found)
    if arguments.get("history") is not True:
        return mark_quoted_text(shown, origins)
    changes = profile_changes.list_profile_changes(db, context.memory, CHANGES)
    writers = {item.source.removeprefix("turn ") for item in changes}
    origins += [taint.load_taint(db, turn).origin for turn in writers]
    lines = (f"- {item.path}: {item.before} -> {item.after} ({item.source})" for item in changes)
    return mark_quoted_text("\n".join((shown, "Last changes, newest first:", *lines)), origins)


@journal_tool(
    "Set one field of the user's profile; null removes it. The text at persona.system_prompt"
    " replaces the agent's base prompt from the next turn on.",
    {"path": "Such as persona.name or pets[0]; created if missing.", "value": {}},
    ["path", "value"],
    keywords="profile, persona, contact data, call me, call you, call yourself, your name,"
    " system prompt",
    lasts=_touches_prompt,
)
def update_profile(db: Database, context: ToolContext, arguments: JsonObject) -> str:
    path, value = read_text_argument(arguments, "path"), arguments.get("value")
    try:
        changed = profile_changes.update_profile(
            db, context.memory, path, value, context.source, context.now, context.origin
        )
    except ProfileError as error:
        raise ToolFailure(str(error)) from error
    now = profile.get_value(changed, profile.parse_path(path))
    return f"Removed {path}." if value is None else f"{path} is now {_format_json(now)}"


def _format_json(value: JsonValue) -> str:
    return orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()
