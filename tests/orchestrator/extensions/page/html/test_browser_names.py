"""Short names of browsers."""

import pytest

from orchestrator.extensions.page.html.browser_names import name_browser

GECKO = "AppleWebKit/537.36 (KHTML, like Gecko)"


@pytest.mark.parametrize(
    ("label", "name"),
    [
        (f"Mozilla/5.0 (X11; Linux x86_64) {GECKO} Chrome/140 Safari/537.36", "Chrome on Linux"),
        (f"Mozilla/5.0 (Windows NT 10.0) {GECKO} Chrome/140 Safari/1 Edg/140", "Edge on Windows"),
        (f"Mozilla/5.0 (iPhone; CPU like Mac OS X) {GECKO} Safari/604", "Safari on iPhone"),
        ("192.0.2.1 Mozilla/5.0 (Macintosh; Mac OS X; rv:1) Firefox/1", "Firefox on macOS"),
        ("something else", "something else"),
    ],
)
def test_browser_has_a_short_name(label: str, name: str) -> None:
    """With its system; one that is unknown is shown as it calls itself."""
    assert name_browser(label) == name
