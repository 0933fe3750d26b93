"""The published tests of a channel say what did not happen."""

import pytest
from _pytest.outcomes import Failed

from orchestrator.channel_api import InboundMessage
from orchestrator.extensions.channel_folders.testing import channel_tests as channel_contract
from orchestrator.extensions.channel_folders.testing.channel_tests import MemoryIntake


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(channel_contract, "STEP_SECONDS", 0.0)


async def test_message_that_was_not_stored_is_named_with_those_that_were() -> None:
    """So that nobody has to guess at which step a channel stopped."""
    intake = MemoryIntake()
    hello = InboundMessage(
        channel="pigeon", bot_id="1", chat_id="ann", message_id="1", sender_id="ann", text="hello"
    )
    await intake.accept([hello])
    assert await intake.wait_for_message("hello") is hello
    with pytest.raises(Failed, match=r"no message with 'bye' within .* it stored \['hello'\]"):
        await intake.wait_for_message("bye")


async def test_empty_batch_moves_no_offset() -> None:
    """The journal's intake moves none either."""
    intake = MemoryIntake()
    await intake.accept([], 9)
    assert await intake.load_offset("pigeon", "1") == 0


async def test_channel_that_never_begins_is_told_what_is_missing() -> None:
    """The first cursor, and the batch that a full journal refuses."""
    with pytest.raises(Failed, match="stored no first cursor"):
        await MemoryIntake().wait_until_begun()
    with pytest.raises(Failed, match="stored nothing while the journal was full"):
        await MemoryIntake().wait_for_refusals(1)
