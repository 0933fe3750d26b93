"""Pictures are fetched before a model sees their message, or recorded as missing."""

from dataclasses import replace
from pathlib import Path

import pytest
from fakes.channel import FakeChannel
from fakes.journal import opened, receive, store_in, update
from fakes.tool_call import plain

from orchestrator.channel_api import Attachment, SendOutcome
from orchestrator.journal.turns import attachments
from orchestrator.turns.attachments import TRIES, AttachmentFetcher

PNG = b"\x89PNG\r\n\x1a\n1"
FETCHED, MISSING = "a photo", "a photo, could not be fetched"


@pytest.mark.parametrize(
    ("outcomes", "calls", "about"),
    [
        ((), 1, FETCHED),
        ((SendOutcome.NOT_SENT,), 2, FETCHED),
        ((SendOutcome.NOT_SENT,) * TRIES, TRIES, MISSING),
        ((SendOutcome.PERMANENT,), 1, MISSING),
    ],
)
async def test_picture_is_tried_a_few_times(
    tmp_path: Path, outcomes: tuple[SendOutcome, ...], calls: int, about: str
) -> None:
    """But not again when it is gone for good."""
    with opened(tmp_path) as db:
        picture = Attachment("handle", "a photo")
        (row,) = receive(db, replace(update(1, "look"), attachments=(picture,)))
        wanted = attachments.list_unread_files(db, "", "telegram/1/7/")
    channel = FakeChannel()
    channel.pictures["handle"] = PNG
    channel.outcomes.extend(outcomes)
    store = store_in(tmp_path)
    await AttachmentFetcher(store, {"telegram": channel}, lambda: 1).fetch_files(wanted, plain)
    message = await store.read(attachments.build_user_message, row, "look")
    (image,) = message.images
    store.close()
    assert (channel.calls, image.about) == (["download"] * calls, about)


async def test_picture_of_a_channel_that_is_gone_is_missing(tmp_path: Path) -> None:
    """Its adapter was there when the message arrived, and is not any more."""
    with opened(tmp_path) as db:
        receive(db, replace(update(1, "look"), attachments=(Attachment("handle", "a photo"),)))
        wanted = attachments.list_unread_files(db, "", "telegram/1/7/")
    store = store_in(tmp_path)
    await AttachmentFetcher(store, {}, lambda: 1).fetch_files(wanted, plain)
    assert await store.read(attachments.list_unread_files, "", "telegram/1/7/") == []
    store.close()
