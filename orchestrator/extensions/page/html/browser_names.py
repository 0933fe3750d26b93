"""Name browsers by what they say of themselves."""

from orchestrator.extensions.page.html.outside_text import shorten_text

# Signs of a browser's description of itself, the special ones first: most call themselves Safari.
BROWSERS = (
    ("Edg/", "Edge"),
    ("OPR/", "Opera"),
    ("Firefox/", "Firefox"),
    ("Chrome/", "Chrome"),
    ("Safari/", "Safari"),
    ("curl/", "curl"),
)
SYSTEMS = (
    ("Android", "Android"),
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Windows", "Windows"),
    ("Mac OS X", "macOS"),
    ("CrOS", "ChromeOS"),
    ("Linux", "Linux"),
)


def name_browser(label: str) -> str:
    """Return a short name for what a browser says of itself: ``Chrome on Linux``."""
    browser = next((name for sign, name in BROWSERS if sign in label), "")
    system = next((name for sign, name in SYSTEMS if sign in label), "")
    return " on ".join(filter(None, (browser, system))) or shorten_text(label, 40)
