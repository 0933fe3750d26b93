"""What counts as harm in a page of HTML."""

import pytest

from orchestrator.extensions.selftest.attacks.inert_html import InertHtml


@pytest.mark.parametrize(
    "text",
    [
        '<script src="/static/0/a.js" defer></script><link rel="icon" href="/static/0/icon.svg">',
        '<form method="post" action="/act/reload"><input name="a" value="<x>"></form><form></form>',
        '<a href="/turns">a</a><a href="#b">b</a><a href="?c">c</a><img src="/static/0/icon.svg">',
        '<a href="https://e.example/?q" rel="noopener noreferrer nofollow">out</a>',
        "&lt;script&gt;alert(1)&lt;/script&gt; ⟦U+202E⟧ \u2009 line\nline\t",
    ],
)
def test_what_the_page_itself_writes_is_inert(text: str) -> None:
    """Its own files, forms and links, and text that only speaks of others."""
    assert InertHtml(text).harm == []


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        '<script src="//evil.example/x.js"></script>',
        '<img src="https://evil.example/?q=1">',
        '<img src="x" onerror="alert(1)">',
        '<b style="color:red">x</b>',
        '<iframe src="/a"></iframe>',
        '<form action="https://evil.example">',
        '<button formaction="//evil.example">',
        '<a href="javascript:alert(1)" rel="noopener noreferrer nofollow">x</a>',
        '<a href="data:text/html,x" rel="noopener noreferrer nofollow">x</a>',
        '<a href="https://evil.example">x</a>',
        '<a href="//evil.example">x</a>',
        '<link rel="x" href="//evil.example">',
        '<meta http-equiv="refresh" content="0;url=//evil.example">',
        '<base href="//evil.example">',
        '<svg><image xlink:href="//evil.example"></svg>',
        "a\u202eb",
        "a\x1b[31mb",
    ],
)
def test_all_that_acts_loads_or_hides_is_harm(text: str) -> None:
    """One at a time."""
    assert len(InertHtml(text).harm) >= 1
