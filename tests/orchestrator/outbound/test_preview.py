"""The answer of a turn while it is written."""

import anyio
from fakes.time_limit import time_limit

from orchestrator.outbound.preview import Preview


async def test_text_is_awaited_until_it_is_long_enough() -> None:
    """A look at it after every change."""
    preview = Preview()
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


def test_preview_is_withdrawn_unless_its_chat_has_begun_to_see_it() -> None:
    """What is seen cannot be taken back; what is withdrawn never begins."""
    seen, unseen = Preview(), Preview()
    assert seen.begin()
    assert not seen.withdraw()
    assert unseen.withdraw()
    assert not unseen.begin()


def test_closed_preview_shows_nothing_more() -> None:
    """Neither to a chat nor to clients that look on."""
    preview, views = Preview(), list[str]()
    preview.view = views.append
    preview.show("a")
    preview.close()
    preview.show("ab")
    assert (preview.text, views) == ("a", ["a"])
