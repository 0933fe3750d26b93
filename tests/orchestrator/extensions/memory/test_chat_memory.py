"""`/memory` in a chat: what the agent knows there, found, forgotten and brought back."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from fakes.agents_file import validate_file
from fakes.commands import command_desk
from fakes.journal import connection_in, job, store_in, update
from fakes.memory import WORK, own_of
from fakes.statements import store_fact

from orchestrator.channel_api import ChatRole
from orchestrator.extensions.memory import fact_changes, memories
from orchestrator.extensions.memory.fact_changes import DAY, Statement
from orchestrator.journal.db.database import Database
from orchestrator.journal.db.store import Store
from orchestrator.journal.memory import facts
from orchestrator.journal.turns import inbox, outbox

OPERATOR, GUEST = "7", "8"
FILE = validate_file(
    {
        "agents": [{"agentId": "work", "llmProvider": "demo", "timezone": "Europe/Berlin"}],
        "bindings": [{"channel": "telegram", "chatId": "*", "agentId": "work"}],
        "channels": {"telegram": {"access": "open", "allowlist": [OPERATOR]}},
    }
)
MAY = 1_777_766_400_000  # 3 May 2026, 02:00 in Berlin
TEA, SHARED = own_of(f"telegram:{GUEST}"), own_of("")


class Chats:
    """The chats of one bot; ``now`` is the time in milliseconds."""

    def __init__(self, db: Database, store: Store) -> None:
        self.db, self.now = db, MAY
        self._desk = command_desk(store, lambda: FILE, now=lambda: self.now)

    def ask(
        self, text: str, chat: str = GUEST, role: ChatRole = "talk", *, private: bool = True
    ) -> str:
        """Return what a command is answered with."""
        message = replace(update(1, text, chat), private=private)
        command = self._desk.parse_command(message)
        assert command is not None
        command = replace(command, role=role)
        with job(self.db):
            answer = command.answer_command(self.db)
        assert command.failed == []
        return answer


@pytest.fixture
def chats(tmp_path: Path) -> Iterator[Chats]:
    """A guest's chat with two facts, and two that all of the operator's chats share."""
    store = store_in(tmp_path)
    db = connection_in(tmp_path)
    with job(db):
        store_fact(db, TEA, "Ann likes tea.", now=MAY, valid_from=MAY)
        store_fact(db, SHARED, "The safe is in the cellar.", now=MAY)
        store_fact(db, SHARED, "The roof leaks.", now=MAY, origin="web")
        store_fact(db, TEA, "Ann has a cat.", now=MAY)
    yield Chats(db, store)
    db.close()
    store.close()


def test_chat_is_shown_its_own_facts_with_number_and_since(chats: Chats) -> None:
    """What the operator's chats share is not for a guest."""
    assert chats.ask("/memory").splitlines()[:3] == [
        "What I know here, page 1 of 1:",
        "- Ann has a cat. (4, stored 3 May 2026)",
        "- Ann likes tea. (1, since 3 May 2026)",
    ]
    assert "cellar" not in chats.ask("/memory cellar")


def test_operator_sees_what_all_chats_share_but_not_in_a_group(chats: Chats) -> None:
    """Others read there."""
    shown = chats.ask("/memory", OPERATOR, "operate")
    assert "- The safe is in the cellar. (2, " in shown
    assert "- The roof leaks. (3, stored 3 May 2026, from the web)" in shown
    group = chats.ask("/memory", OPERATOR, "operate", private=False)
    assert group.splitlines() == [
        "I remember no facts here.",
        "What all of my chats share is shown to my operator, in a private chat.",
    ]
    assert "no fact 2" in chats.ask("/memory forget 2", OPERATOR, "operate", private=False)


def test_words_find_facts(chats: Chats) -> None:
    """Also by the words of what a fact replaced, as in prompts."""
    assert chats.ask("/memory cats") == "- Ann has a cat. (4, stored 3 May 2026)"
    with job(chats.db):
        old = Statement("Ann lives in Paris.", "contact", "t", subject="user", slot="home city")
        fact_changes.store_statement(chats.db, TEA, old, MAY)
        new = Statement("Ann moved to Berlin.", "contact", "t")
        fact_changes.replace_fact(chats.db, TEA, 5, new, MAY)
    for question in ("Where do I live?", "which city"):
        assert chats.ask(f"/memory {question}").startswith("- Ann moved to Berlin. (6, ")
    assert chats.ask("/memory zebra").startswith("I remember nothing with these words")


def test_many_facts_are_shown_in_pages(chats: Chats) -> None:
    """Each fits into a message; a page that is not there says which is the last."""
    with job(chats.db):
        store_fact(chats.db, TEA, "y" * 2000, now=MAY)
        for number in range(60):
            store_fact(chats.db, TEA, f"Ann owns {number} books. {'x' * 50}", now=MAY)
        store_fact(chats.db, TEA, "Spoke of tea.", facts.NOTE, now=MAY)
    first = chats.ask("/memory")
    last = int(first.splitlines()[0].removeprefix("What I know here, page 1 of ").rstrip(":"))
    assert "What we talked about:\n- Spoke of tea. (" in first
    assert "/memory 2 shows more." in first
    pages = [chats.ask(f"/memory {number}") for number in range(1, last + 1)]
    assert all(sum(f"owns {n} " in page for page in pages) == 1 for n in range(60))
    assert sum("y" * 2000 in page for page in pages) == 1
    assert f"/memory {last + 1}" not in pages[-1]
    assert chats.ask(f"/memory {last + 1}").endswith(f"the last one is /memory {last}.")
    assert chats.ask("/memory 99999999999999999999").startswith("There is no page")
    assert chats.ask("/memory 0").startswith("There is no page 0")


def test_fact_is_forgotten_and_brought_back_within_a_day(chats: Chats) -> None:
    """Then its row is gone as well."""
    assert "/memory undo 1 brings it back" in chats.ask("/memory forget 1")
    assert "tea" not in chats.ask("/memory")
    assert "- Ann likes tea. (1, since" in chats.ask("/memory undo 1")
    chats.ask("/memory forget 1")
    chats.now = MAY + DAY + 1
    assert "more than a day ago" in chats.ask("/memory undo 1")
    with job(chats.db):
        assert fact_changes.purge_forgotten(chats.db, chats.now) == 1
    assert "no fact 1" in chats.ask("/memory undo 1")


def test_undo_without_a_number_takes_the_last_change_back(chats: Chats) -> None:
    """Of this chat; a fact that was new is forgotten."""
    chats.now += 1
    chats.ask("/memory forget 1")
    with job(chats.db):
        chats.now += 1
        store_fact(chats.db, SHARED, "The door is open.", now=chats.now)
    assert "- Ann likes tea." in chats.ask("/memory undo")
    assert chats.ask("/memory undo") == "Fact 4 is forgotten. /memory undo 4 brings it back."
    assert "Ann has a cat." in chats.ask("/memory undo 4")
    chats.now = MAY + 2 * DAY
    assert chats.ask("/memory undo") == "Nothing has changed here within a day."


def test_undo_without_a_number_never_goes_back_and_forth(chats: Chats) -> None:
    """What an undo did is no change, and what was learned more than an hour ago stays."""
    chats.now += memories.HOUR
    chats.ask("/memory forget 1")
    with job(chats.db):
        fact_changes.edit_fact(chats.db, TEA, 4, "Ann has a dog.", "user", chats.now + 1)
        store_fact(chats.db, TEA, "Spoke of tea.", facts.NOTE, now=chats.now + 2)
        store_fact(chats.db, TEA, "Ann sings.", now=chats.now + 3)
    chats.now += 9
    answers = [chats.ask("/memory undo").partition(" (")[0] for _ in range(5)]
    assert answers == [
        "Fact 7 is forgotten. /memory undo 7 brings it back.",
        "The change is undone. I know this again:\n- Ann has a cat.",
        "The change is undone. I know this again:\n- Ann likes tea.",
        *["Nothing has changed here within a day."] * 2,
    ]
    assert "- Ann sings. (7, " in chats.ask("/memory undo 7")


def test_fact_says_which_older_one_of_its_slot_it_may_replace(chats: Chats) -> None:
    """In the list and in a search."""
    with job(chats.db):
        for city in ("Paris", "Rome"):
            told = Statement(f"Lives in {city}", "contact", "t", slot="home city")
            fact_changes.store_statement(chats.db, TEA, told, MAY)
    for text in ("/memory", "/memory Rome"):
        assert "- Lives in Rome (6, stored 3 May 2026, may replace 5)" in chats.ask(text)


def test_undone_replacement_brings_the_earlier_fact_back(chats: Chats) -> None:
    """By the number of either."""
    with job(chats.db):
        fact_changes.edit_fact(chats.db, TEA, 1, "Ann likes coffee.", "user", MAY)
    assert "- Ann likes tea. (1, since" in chats.ask("/memory undo 5")
    assert "coffee" not in chats.ask("/memory")


def test_guest_cannot_touch_what_belongs_to_others(chats: Chats) -> None:
    """Nor learn whether it is there."""
    unknown = chats.ask("/memory forget 99")
    assert chats.ask("/memory forget 2") == unknown.replace("99", "2")
    assert "no fact 2" in chats.ask("/memory undo 2")
    assert facts.find_fact(chats.db, WORK, 2) is not None


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("/memory forget", "Write its number: /memory forget 12"),
        ("/memory forget 99999999999999999999", "there is no fact"),
        ("/memory forget 0", "Write its number"),
        ("/memory forget tea", "Which fact? Write its number: /memory forget 12"),
        ("/memory forget -3", "Which fact?"),
        ("/memory forget 1 2", "Which fact?"),
        ("/memory forget " + "9" * 4001, "Which fact?"),
        ("/memory forget #2", "there is no fact 2"),
        ("/memory undo abc", "Which fact? Write its number: /memory undo 12"),
        ("/memory edit 2 foo", "Tell me what is true instead"),
        ("/memory edit foo", "nothing with these words"),
        ("/memory undo 77", "there is no fact 77"),
        ("/memory ²", "nothing with these words"),
    ],
)
def test_wrong_input_says_what_to_write(text: str, answer: str, chats: Chats) -> None:
    """It is no fault of the daemon."""
    assert answer in chats.ask(text)


def test_what_a_chat_was_shown_of_a_forgotten_fact_is_removed(chats: Chats) -> None:
    """Also of a short one, since it stands in a list."""
    with job(chats.db):
        store_fact(chats.db, TEA, "Is shy.", now=MAY)
    shown = chats.ask("/memory")
    with job(chats.db):
        outbox.add_notice(chats.db, inbox.make_address(update(1, "", GUEST)), shown, MAY)
    chats.ask("/memory forget 1")
    chats.ask("/memory forget 5")
    kept = chats.db.execute("SELECT body FROM outbox").get
    assert "likes tea" not in kept
    assert "shy" not in kept
    assert "- Ann has a cat. (4, stored" in kept
