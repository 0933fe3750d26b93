"""The answer of a turn while it is written."""

from pathlib import Path

import anyio
import pytest
from fakes.delivering import FIRST, HERE, WORDS, delivering
from fakes.journal import open_turn, opened
from fakes.time_limit import time_limit

from orchestrator.outbound.chat_queue import Preview


async def test_text_is_awaited_until_it_is_long_enough() -> None:
    """A look at it after every change."""
    preview = Preview("t1", lambda _: None)
    found: list[str] = []

    async def wait() -> None:
        found.append(await preview.wait_for_longer_text(3))

    with time_limit():
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wait)
            for text in ("a", "ab", "abcd"):
                await anyio.wait_all_tasks_blocked()
                assert not found
                preview.show_text(text)
    assert found == ["abcd"]


def test_answer_is_offered_until_its_chat_refuses_it() -> None:
    """A platform that took it slowly may be offered more, one that cannot show it may not."""
    preview = Preview("t1", lambda _: None)
    preview.offer_refresh()
    assert preview.offered
    preview.stop_showing()
    preview.offer_refresh()
    assert not preview.offered


def test_closed_preview_shows_nothing_more() -> None:
    """Neither to a chat nor to clients that look on."""
    preview, views = Preview("t1", lambda _: None), list[str]()
    preview.view = views.append
    preview.show_text("a")
    preview.close()
    preview.show_text("ab")
    assert (preview.text, views) == ("a", ["a"])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (WORDS, FIRST),
        ("\n\nExactly twenty-four long words", "Exactly twenty-four long …"),
        ("One line\nand_a_word_beyond_the_end", "One line …"),
        ("Donaudampfschifffahrtsgesellschaft", "Donaudampfschifffahrtsge …"),
    ],
)
async def test_preview_begins_with_the_first_words(tmp_path: Path, text: str, words: str) -> None:
    """Even if the whole answer is there: a preview that is left over must not look like it."""
    with opened(tmp_path) as db:
        turn = open_turn(db)
    async with delivering(tmp_path) as running:
        with running.delivery.open_preview(turn.id, HERE) as preview:
            preview.show_text(text)
            await running.queued(1)
            assert await running.states() == ["ph_sent"]
            assert running.shown == [words]
