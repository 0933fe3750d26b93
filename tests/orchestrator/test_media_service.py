"""A daemon whose agents neither hear, speak nor draw: nothing of it was installed."""

from contextlib import closing
from pathlib import Path

import pytest
from fakes.journal import job, open_turn, opened, store_in
from fakes.tool_call import plain

from orchestrator.agentsfile import AgentDefinition
from orchestrator.document_text import UnreadableError
from orchestrator.errors import MediaError
from orchestrator.journal.turns import outbox, turns
from orchestrator.journal.turns.outbox import OutboxPart
from orchestrator.media_service import NoMedia
from thinker.protocol.media_requests import DrawingRequest

AGENT = AgentDefinition(agent_id="work", llm_provider="demo")


async def test_answer_stays_a_text_and_the_rest_is_refused_with_what_to_do(tmp_path: Path) -> None:
    """Files that are texts are read all the same."""
    with opened(tmp_path) as db, closing(store_in(tmp_path)) as store:
        media = NoMedia(store, plain)
        turn = open_turn(db)
        with job(db):
            voice = OutboxPart("Good morning.", markdown=False, file_name="answer", voice=True)
            turns.end_with_reply(db, turn, [voice], "direct", ("done", None), 0)
        (row,) = outbox.list_due_rows(db, "telegram")
        await media.store_speech(row)
        (told,) = outbox.list_texts_of_turn(db, "t1")
        assert told.startswith("I could not speak this answer: the extension media is not inst")
        read = media.make_reader(AGENT, "work")
        assert await read(b"tea", "text/plain") == "tea"
        with pytest.raises(
            UnreadableError, match="recordings are not transcribed: the extension media is not"
        ):
            await read(b"OggS", "audio/ogg")
        with pytest.raises(MediaError, match="the extension media is not installed"):
            await media.draw_pictures(AGENT, "work", DrawingRequest(prompt="a cat"))
