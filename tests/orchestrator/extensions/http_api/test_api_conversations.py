"""Conversations of clients, and when they go."""

from pathlib import Path

from fakes.journal import job, opened

from orchestrator.extensions.http_api import api_conversations, new_requests, stored_requests
from orchestrator.extensions.upkeep import retention
from thinker.protocol.messages import UserMessage

DAY = 86_400_000


def test_conversation_of_a_client_goes_when_no_request_belongs_to_it(
    tmp_path: Path,
) -> None:
    """With what waits in it; one with requests stays, and a new one."""
    with opened(tmp_path) as db:
        waiting = UserMessage(content="waits")
        for name, at in (("conv_old", 1), ("conv_used", 1), ("conv_new", 9 * DAY)):
            with job(db):
                api_conversations.create_conversation(db, name, {}, at)
                api_conversations.add_items(db, name, [waiting])
        body = stored_requests.Body(messages=(waiting,))
        asked = new_requests.NewRequest("r", "work", body, "d", conversation="conv_used")
        with job(db):
            new_requests.store_request(db, asked, 1)
            assert retention.delete_unused_conversations(db, 5 * DAY) == 1
            assert retention.delete_unused_conversations(db, 5 * DAY) == 0
        left = db.execute(
            "SELECT DISTINCT conversation_id FROM conversation_item ORDER BY 1"
        ).fetchall()
        assert left == [("conv_new",), ("conv_used",)]
