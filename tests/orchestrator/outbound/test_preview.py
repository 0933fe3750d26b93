"""The answer of a turn while it is written."""

import anyio
from fakes.time_limit import time_limit

from orchestrator.outbound.preview import Preview


async def test_text_is_awaited_until_it_is_long_enough() -> None:
    """A look at it after every change."""
    preview = Preview("t1")
    found: list[str] = []

    async def wait() -> None:
        found.append(await preview.longer_than(3))

    with time_limit():
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wait)
            for text in ("a", "ab", "abcd"):
                await anyio.wait_all_tasks_blocked()
                assert not found
                preview.show(text)
    assert found == ["abcd"]


def test_answer_is_offered_until_its_chat_refuses_it() -> None:
    """A platform that took it slowly may be offered more, one that cannot show it may not."""
    preview = Preview("t1")
    preview.offer()
    assert preview.offered
    preview.refuse()
    preview.offer()
    assert not preview.offered


def test_closed_preview_shows_nothing_more() -> None:
    """Neither to a chat nor to clients that look on."""
    preview, views = Preview("t1"), list[str]()
    preview.view = views.append
    preview.show("a")
    preview.close()
    preview.show("ab")
    assert (preview.text, views) == ("a", ["a"])
