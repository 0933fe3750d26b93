"""The manual on the page."""

import re
from typing import Any

from fakes.screens import html, request

from orchestrator.extensions.page.screens import manual_pages


def test_links_between_pages_lead_to_the_page() -> None:
    """And to pages that exist."""
    for text in manual_pages.load_manual_pages().values():
        drawn = html(manual_pages.render_manual_page(text))
        for topic in re.findall(r'href="/manual/([^"#]*)', drawn):
            assert topic in manual_pages.load_manual_pages()
        assert not re.search(r"\[(references/)?[a-z-]+\.md\]", drawn)


def test_index_has_no_front_matter() -> None:
    """That is for programs."""
    assert "description:" not in html(
        manual_pages.render_manual_page(manual_pages.load_manual_pages()[""])
    )


async def search(words: str) -> str:
    """The manual's first screen with these words in its address."""
    shown: Any = await manual_pages.show_manual_index(request("viewer", words=words))
    return html(shown)


async def test_search_finds_passages_of_all_pages() -> None:
    """By a form that works without scripts; each hit leads to its page."""
    shown = await search("second bot")
    assert '<form method="get"' in shown
    assert 'value="second bot"' in shown
    assert '<a href="/manual/groups">groups: Add a second bot</a>' in shown
    assert "another bot" in shown


async def test_search_without_a_hit_says_so() -> None:
    """What was typed is text."""
    shown = await search("<zxqv>")
    assert "No page has the words" in shown
    assert "<zxqv>" not in shown


async def test_index_is_shown_without_words() -> None:
    """With the field above."""
    shown = await search(" ")
    assert 'name="words"' in shown
    assert 'href="/manual/tutorial"' in shown
