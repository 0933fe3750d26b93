"""The manual on the page."""

import re

from fakes.screens import html

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
