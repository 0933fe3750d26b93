"""Messages that join a running turn, if they or their agent ask for that.

Where: does a new message join a running turn?
"""

from orchestrator.journal.db.database import Database
from orchestrator.journal.turns import albums, attachments, inbox, internal_messages
from orchestrator.journal.turns.inbox import InboxRow
from orchestrator.routing import find_answering_agent
from orchestrator.tools.builtin.host_tool import ToolContext
from orchestrator.turns.turn_context import TurnContext
from orchestrator.turns.turn_services import TurnServices
from thinker.protocol.messages import UserMessage


async def enter_new_messages(
    services: TurnServices, context: TurnContext, tools: ToolContext
) -> tuple[UserMessage, ...]:
    """Add the chat's new messages, with their files, to the turn, and return them.

    Raises:
        JournalError: the journal cannot be used, or another process runs the turn.
    """
    store, turn = services.store, context.turn
    row = await store.read(inbox.find_oldest_new, turn.chat_key)
    if row is None or not context.is_steered_by(row):
        return ()
    wanted = await store.transact(attachments.list_unread_files, turn.id, turn.chat_key)
    await services.inputs.pictures.fetch_files(wanted, tools.document_text)
    return await store.transact(_add_new_messages, context)


def _add_new_messages(db: Database, context: TurnContext) -> tuple[UserMessage, ...]:
    now, agent_id = context.clock(), context.turn.agent_id

    def can_join_turn(row: InboxRow) -> bool:
        if not context.is_steered_by(row):
            return False
        if albums.compute_album_wait(db, row.chat_key, row.album, now, 0):
            return False
        return find_answering_agent(db, context.agents, row, row.chat_key) == agent_id

    return internal_messages.enter_new_messages(db, context.turn, can_join_turn)
