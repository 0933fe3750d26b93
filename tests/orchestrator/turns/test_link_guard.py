"""Links in a reply that could carry data out are written so that nothing opens them."""

import pytest

from orchestrator.journal.turns.taint import Taint
from orchestrator.journal.turns.turns import StoredTurn, Turn
from orchestrator.turns.link_guard import MAX_PREVIEW, MAX_SEARCHED, LinkGuard, PreviewedLinks
from thinker.protocol.messages import AssistantMessage, ToolResult, UserMessage

SECRET = "PRIVATE-7741"
PAGE = "See https://evil.example/?q= or https://news.example/story/5. Or https://evil.example/private-7741"


def guard() -> LinkGuard:
    found = LinkGuard()
    page = ToolResult(call_id="1", name="page", content=PAGE, origin="tool", private=True)
    notes = ToolResult(call_id="2", name="notes", content=f"It is {SECRET}.", private=True)
    said = UserMessage(content="Link to https://wiki.example/start please")
    own = AssistantMessage(content="https://made.example/up?x=1")
    found.add_messages((said, page, notes, own))
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
    shown = guard().defuse_links(text)
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
    assert guard().defuse_links(text) == text


class CountingWords(dict[str, int]):
    """Telling words that count how often one is looked for."""

    asked = 0

    def get(self, key: str, default: int | None = None) -> int | None:  # type: ignore[override] # one signature of three
        self.asked += 1
        return super().get(key, default)


def test_words_are_looked_up_by_the_length_of_an_address_not_by_their_number() -> None:
    """An answer of many links, after a large private result, must not hold up the journal."""
    found = LinkGuard(_private=(words := CountingWords()))
    notes = " ".join(f"w{number}" for number in range(10_000, 12_000))
    page = " ".join(f"https://news.example/w{number}x" for number in range(100))
    found.add_messages([ToolResult(call_id="1", name="notes", content=notes, private=True)])
    found.add_messages([ToolResult(call_id="2", name="page", content=page, origin="tool")])
    assert found.defuse_links(page) == page
    assert words.asked <= len(page)


def test_private_text_without_spaces_is_read_in_one_pass() -> None:
    """With a pattern that looks ahead from each of its words, this would not end."""
    found = LinkGuard()
    text = "a-" * 500_000
    found.add_messages([ToolResult(call_id="1", name="notes", content=text, private=True)])
    assert found.defuse_links("https://news.example/") == "hxxps://news[.]example/"


def previewed(*results: ToolResult) -> PreviewedLinks:
    turn = Turn("1", "main", "console:1", 1, "interactive", "running", 1, 0, 0, "")
    links = PreviewedLinks(Taint(), StoredTurn(turn, (), (), (), None, "user", (), ()), on=True)
    for result in results:
        links.add_message(result)
    return links


def test_growing_answer_keeps_links_that_were_read_unless_much_was_read() -> None:
    """Only so much is searched between the work of other chats."""
    page = ToolResult(call_id="1", name="page", content=PAGE, origin="web", private=True)
    long = ToolResult(call_id="2", name="notes", content="a " * MAX_SEARCHED, private=True)
    link = "https://news.example/story/5"
    assert previewed(page).defuse_preview(link) == link
    assert previewed(page, long).defuse_preview(link) == "hxxps://news[.]example/story/5"
    assert len(previewed(page).defuse_preview(f"{link} " * MAX_SEARCHED)) == MAX_PREVIEW
