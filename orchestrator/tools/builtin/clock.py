"""get_time: the current time in any time zone."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from orchestrator.journal.db.database import Database
from orchestrator.tools.builtin.host_tool import (
    STRING,
    ToolContext,
    ToolFailure,
    journal_tool,
    read_text_argument,
)
from thinker.protocol.messages import JsonObject, SideEffect


@journal_tool(
    "The current date and time.",
    {"timezone": STRING | {"description": "Default: the user's.", "examples": ["Europe/Berlin"]}},
    side_effect=SideEffect.PURE,
)
def get_time(db: Database, context: ToolContext, arguments: JsonObject) -> str:
    del db
    name = read_text_argument(arguments, "timezone") or context.timezone
    try:
        zone = ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise ToolFailure(f"unknown time zone {name!r}; use one such as Europe/Berlin") from None
    now = datetime.fromtimestamp(context.now / 1000, UTC).astimezone(zone)
    return f"{now:%A, %Y-%m-%d %H:%M:%S %z} ({name})"
