"""The manual on the page."""

import re

from fakes.screens import html

from orchestrator.page.screens import manual_pages


def test_links_between_pages_lead_to_the_page() -> None:
    """And to pages that exist."""
    for text in manual_pages.pages().values():
        drawn = html(manual_pages.draw(text))
        for topic in re.findall(r'href="/manual/([^"#]*)', drawn):
            assert topic in manual_pages.pages()
        assert not re.search(r"\[(references/)?[a-z-]+\.md\]", drawn)


def test_index_has_no_front_matter() -> None:
    """That is for programs."""
    assert "description:" not in html(manual_pages.draw(manual_pages.pages()[""]))
