"""A call of a host tool, outside any daemon."""

from pathlib import Path

from fakes.memory import WORK
from pydantic import JsonValue

from orchestrator.channel_api import ReplyPart
from orchestrator.document_text import decode_plain_text
from orchestrator.errors import MediaError
from orchestrator.journal.db.database import Database
from orchestrator.journal.db.store import Store
from orchestrator.journal.turns.outbox import Address
from orchestrator.tools.builtin.host_tool import JournalTool, ToolContext
from thinker.protocol.media_requests import DrawingRequest, DrawingResult

NOON = 1_770_897_600_000  # 2026-02-12 12:00 UTC, 07:00 in New York


def tool_context(store: Store, skills: Path) -> ToolContext:
    """A call of turn t1 of the agent ``work`` in chat 7, at noon in UTC."""
    return ToolContext(
        agent_id="work",
        turn_id="t1",
        address=Address("telegram", "1", "7"),
        now=NOON,
        timezone="America/New_York",
        skill_directories=(skills,),
        skills=("*",),
        split=lambda _, text: (ReplyPart(text),),
        mode=lambda _: "direct",
        takes_files=lambda channel: channel in ("telegram", "web"),
        memory=WORK,
        may_write=lambda *_: True,
        store=store,
        meaning=_unknown,
        document_text=plain,
        draw=_undrawn,
    )


async def plain(data: bytes, media_type: str) -> str:
    """Find the text of a file that is one."""
    del media_type
    return decode_plain_text(data)


async def _unknown(text: str) -> None:
    """There is no embeddings model."""
    del text


async def _undrawn(request: DrawingRequest) -> DrawingResult:
    """There is no model that draws."""
    raise MediaError(f"the agent does not draw {request.prompt}")


def run(tool: JournalTool, db: Database, context: ToolContext, **arguments: JsonValue) -> str:
    """What a tool answers."""
    return tool.effect(db, context, arguments)
