"""Intake: what is stored of an update (T1), and what its chat hears at once."""

from collections.abc import Callable, Collection, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from fakes.agents_file import validate_file
from fakes.commands import command_desk, no_notice
from fakes.journal import connection_in, store_in, update

from orchestrator.chat_texts import HELD_FULL, PAIRED, PAIRED_ANSWERS
from orchestrator.inbound.intake import JournalIntake
from orchestrator.journal.access import pairing
from orchestrator.journal.db.database import Database
from orchestrator.journal.inspect import invariants
from orchestrator.journal.turns.held_messages import MAX_HELD

pytestmark = pytest.mark.usefixtures("reads")

AGENTS = validate_file(
    {
        "agents": [{"agentId": "work", "llmProvider": "demo"}],
        "bindings": [{"channel": "telegram", "chatId": "7", "agentId": "work"}],
        "channels": {"telegram": {"allowlist": ["9"]}},
    }
)
STRANGER = "8"


class Queues:
    """The dispatcher's side: the chats that it held, and how many messages T1 had stored."""

    def __init__(self) -> None:
        self.held: list[set[str]] = []
        self.stored: list[int] = []

    @contextmanager
    def hold_chats(self, chats: Collection[str]) -> Iterator[Callable[[Database], None]]:
        """Note the chats; at the end of T1, note its messages."""
        self.held.append(set(chats))
        yield self._admit

    def _admit(self, db: Database) -> None:
        assert db.in_transaction
        self.stored.append(int(db.execute("SELECT count(*) FROM inbox").get or 0))


class Bench:
    """An intake on a journal; ``answers`` counts the commits that may have answered something."""

    def __init__(self, folder: Path) -> None:
        self.store = store_in(folder)
        self.db = connection_in(folder)
        self.queues = Queues()
        self.answers = 0
        commands = command_desk(self.store, lambda: AGENTS)
        self.intake = JournalIntake(
            self.store,
            lambda: AGENTS,
            no_notice,
            self.queues,
            self._answered,
            commands,
            lambda: 1000,
            lambda size: bytes(range(size)),
        )

    def _answered(self) -> None:
        self.answers += 1

    def rows(self) -> list[tuple[str, str, str]]:
        """Every inbox row: update, state and text."""
        rows = self.db.execute("SELECT update_id, state, text FROM inbox ORDER BY id")
        return [(str(number), str(state), str(text)) for number, state, text in rows]

    def held(self) -> list[str]:
        """The texts that wait for an approval."""
        rows = self.db.execute("SELECT text FROM held ORDER BY inbox_id")
        return [str(text) for (text,) in rows]

    async def approve(self, code: str) -> bool:
        """Whether the code let a chat in."""
        return await self.store.transact(pairing.approve, code, 1000) is not None

    def notices(self, chat_id: str) -> list[str]:
        """What a chat is sent outside of turns."""
        sql = "SELECT body FROM outbox WHERE turn_id IS NULL AND chat_id = ? ORDER BY id"
        return [str(body) for (body,) in self.db.execute(sql, (chat_id,))]


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    """An empty journal."""
    made = Bench(tmp_path)
    with closing(made.db):
        yield made
        assert invariants.check_invariants(made.db) == []
    made.store.close()


async def test_message_is_stored_with_the_next_offset(bench: Bench) -> None:
    """Its chat is held meanwhile, and its turn may open at the end of the same transaction."""
    assert await bench.intake.load_offset("telegram", "1") == 0
    await bench.intake.accept([update(4), update(5, "more")], 6)
    assert bench.rows() == [("4", "new", "hello"), ("5", "new", "more")]
    assert await bench.intake.load_offset("telegram", "1") == 6
    assert bench.queues.held == [{"telegram/1/7/"}]
    assert bench.queues.stored == [2]
    assert bench.answers == 0


async def test_update_that_comes_twice_is_stored_once(bench: Bench) -> None:
    """The platform repeats it when the acknowledgment got lost."""
    await bench.intake.accept([update(4)], 5)
    await bench.intake.accept([update(4), update(5)], 6)
    assert [number for number, _, _ in bench.rows()] == ["4", "5"]


async def test_empty_batch_changes_nothing(bench: Bench) -> None:
    """A long poll without updates is no transaction."""
    await bench.intake.accept([], 9)
    assert await bench.intake.load_offset("telegram", "1") == 0
    assert bench.queues.held == []


async def test_unknown_chat_gets_a_code_and_its_text_is_held(bench: Bench) -> None:
    """One code for all of its messages, while it is valid; no agent sees them."""
    await bench.intake.accept([update(4, "let me in", STRANGER)], 5)
    await bench.intake.accept([update(5, "please", STRANGER)], 6)
    (notice,) = bench.notices(STRANGER)
    assert notice.endswith("orchestrator pair approve ABCDEFGH")
    assert bench.rows() == [("4", "cancelled", ""), ("5", "cancelled", "")]
    assert bench.held() == ["let me in", "please"]
    assert bench.answers == 2


async def test_approved_chat_is_told_and_answered_what_it_wrote(bench: Bench) -> None:
    """In the order of its messages; a command that it tried is not one of them."""
    texts = ("/start", "hello", "are you there?")
    for number, text in enumerate(texts, 4):
        await bench.intake.accept([update(number, text, STRANGER)], number + 1)
    assert await bench.approve("ABCDEFGH")
    waiting = [text for _, state, text in bench.rows() if state == "new"]
    assert waiting == ["hello", "are you there?"]
    assert bench.notices(STRANGER)[1:] == [f"{PAIRED} {PAIRED_ANSWERS}"]
    assert bench.held() == []
    assert not await bench.approve("ABCDEFGH")
    await bench.intake.accept([update(5, "hello", STRANGER)], 6)
    assert [text for _, state, text in bench.rows() if state == "new"] == waiting


async def test_chat_that_only_started_the_bot_is_told_that_it_may_write(bench: Bench) -> None:
    """There is nothing to answer."""
    await bench.intake.accept([update(4, "/start", STRANGER)], 5)
    assert await bench.approve("ABCDEFGH")
    assert bench.notices(STRANGER)[1:] == [PAIRED]


async def test_only_so_many_messages_are_held(bench: Bench) -> None:
    """The chat is told with the last of them, also when they all come at once."""
    numbers = range(4, 4 + MAX_HELD + 5)
    await bench.intake.accept([update(n, f"m{n}", STRANGER) for n in numbers], 99)
    await bench.intake.accept([update(99, "more", STRANGER)], 100)
    assert bench.held() == [f"m{n}" for n in numbers[:MAX_HELD]]
    assert bench.notices(STRANGER)[1:] == [HELD_FULL]


async def test_revoked_chat_leaves_no_text(bench: Bench) -> None:
    """What it wrote stays unanswered, and what it writes later is not held."""
    await bench.intake.accept([update(4, "let me in", STRANGER)], 5)
    assert await bench.store.transact(pairing.revoke_pairing, "telegram", STRANGER, 1000)
    await bench.intake.accept([update(5, "please", STRANGER)], 6)
    assert bench.held() == []
    assert bench.rows() == [("4", "cancelled", ""), ("5", "cancelled", "")]


async def test_paired_person_is_known_in_groups_by_an_id_of_their_own(bench: Bench) -> None:
    """On most platforms it is another one than that of the private chat."""
    await bench.intake.accept([replace(update(4, "hi", "room"), sender_id="@ada")], 5)
    asked = replace(update(5, "and here?", "-100"), private=False, mentioned=True)
    await bench.intake.accept([replace(asked, sender_id="@ada")], 6)
    (code,) = (text.rpartition(" ")[2] for text in bench.notices("room"))
    assert await bench.approve(code)
    again = replace(asked, update_id=6, message_id="6")
    await bench.intake.accept([replace(again, sender_id="@ada")], 7)
    stranger = replace(asked, update_id=7, message_id="7", sender_id="@bob")
    await bench.intake.accept([stranger], 8)
    states = [(number, state) for number, state, _ in bench.rows()]
    assert states == [("4", "new"), ("5", "cancelled"), ("6", "new"), ("7", "cancelled")]


async def test_group_gets_no_code(bench: Bench) -> None:
    """Its members would all see it."""
    message = replace(update(4, "hi", "-100"), sender_id=STRANGER, private=False)
    await bench.intake.accept([message], 5)
    assert bench.notices("-100") == []
    assert bench.held() == []
    assert [text for _, _, text in bench.rows()] == [""]


async def test_what_a_group_says_to_itself_is_stored_without_its_words(bench: Bench) -> None:
    """It holds up no chat, and gets no notice even if it is too long for the bot."""
    said = replace(
        update(4, "/pause", "-100"),
        sender_id="9",
        private=False,
        skip="too long",
        notice="Shorter!",
    )
    await bench.intake.accept([said], 5)
    assert bench.queues.held == [set()]
    assert bench.rows() == [("4", "cancelled", "")]
    assert bench.notices("-100") == []
    reasons = bench.db.execute("SELECT act FROM audit ORDER BY id").fetchall()
    assert reasons == [("refused: not addressed",)]


async def test_update_without_a_message_is_skipped_with_its_notice(bench: Bench) -> None:
    """The channel says why; no agent sees it."""
    message = replace(update(4, ""), skip="no text", notice="I read text only.")
    await bench.intake.accept([message], 5)
    assert bench.notices("7") == ["I read text only."]
    assert bench.queues.held == [set()]
    assert [state for _, state, _ in bench.rows()] == ["cancelled"]


async def test_edit_changes_a_message_only_until_it_is_answered(bench: Bench) -> None:
    """Afterwards it is stored as refused and changes nothing."""
    await bench.intake.accept([update(4, "helo")], 5)
    edit = replace(update(5, "hello"), message_id="4", edit_date=1, kind="edit")
    await bench.intake.accept([edit], 6)
    assert ("new", "hello") in [(state, text) for _, state, text in bench.rows()]
    bench.db.execute("UPDATE inbox SET state = 'done'")
    late = replace(update(6, "hello!"), message_id="4", edit_date=2, kind="edit")
    await bench.intake.accept([late], 7)
    assert "new" not in [state for _, state, _ in bench.rows()]


async def test_command_is_answered_without_a_turn(bench: Bench) -> None:
    """Its chat need not be held."""
    await bench.intake.accept([update(4, "/help")], 5)
    (notice,) = bench.notices("7")
    assert "/new" in notice
    assert bench.queues.held == [set()]
    assert bench.answers == 1


async def test_what_a_stranger_corrects_or_deletes_is_answered_so_once_let_in(
    bench: Bench,
) -> None:
    """An edit replaces the held words, and a deleted message is not held any more."""
    await bench.intake.accept([update(1, "helo", STRANGER), update(2, "secret", STRANGER)], 3)
    edit = replace(update(3, "hello", STRANGER), message_id="1", kind="edit", edit_date=9)
    gone = replace(update(4, "", STRANGER), message_id="2", kind="removal", sender_id="")
    await bench.intake.accept([edit, gone], 5)
    assert bench.held() == ["hello"]
    assert await bench.intake.load_offset("telegram", "1") == 5
