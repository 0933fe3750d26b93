"""Forgetting a fork, its source, or both, in any order, removes what is theirs and no more."""

from collections.abc import Iterator
from itertools import permutations
from pathlib import Path

import pytest
from fakes.branched import BranchedWorld, branched_world
from fakes.journal import job, read_contents

from orchestrator.extensions.branches.branching import ChildSession
from orchestrator.extensions.erasure import erasure
from orchestrator.extensions.erasure.erasure import Subject
from orchestrator.journal.turns import sessions
from orchestrator.journal.turns.outbox import Address

CHATS = {
    "zebra": Subject(channel="telegram", chat="7"),
    "yak": Subject(channel="web", chat="operator/fork-1"),
    "walrus": Subject(channel="web", chat="operator/fork-2"),
    "vole": Subject(channel="telegram", chat="8"),
}


@pytest.fixture
def world(tmp_path: Path) -> Iterator[BranchedWorld]:
    """A conversation, a fork, a fork of that, and another chat, each with a word of its own."""
    with branched_world(tmp_path) as made:
        point = made.have("zebra one", ("send_mail", {"to": "zebra"}))
        made.have("zebra two", ("pay_bill", {"bill": "zebra"}))
        first = made.fork(point)
        below = made.have("yak", ("send_mail", {"to": "yak"}), at=first.address)
        second = made.fork(below, "fork-2")
        made.have("walrus", ("set_light", {"color": "walrus"}), at=second.address)
        made.have("vole", ("set_light", {"color": "vole"}), at=Address("telegram", "1", "8"))
        yield made


def find_words(world: BranchedWorld) -> set[str]:
    """The chats whose words are anywhere in the journal."""
    everything = repr(read_contents(world.db))
    return {word for word in CHATS if word in everything}


def forget(world: BranchedWorld, word: str) -> None:
    """Erase a chat."""
    with job(world.db):
        erasure.forget(world.db, CHATS[word], world.now)


@pytest.mark.parametrize("order", [*permutations(("zebra", "yak", "walrus"))])
def test_each_chat_is_forgotten_by_itself(world: BranchedWorld, order: tuple[str, ...]) -> None:
    """Nothing of it is left anywhere, and all the others have everything of their own."""
    left = set(CHATS)
    for word in order:
        forget(world, word)
        left.remove(word)
        assert find_words(world) == left
        turns = world.db.execute("SELECT count(*) FROM turn").get
        assert turns == sum({"zebra": 2}.get(name, 1) for name in left)


def test_rewound_chat_is_forgotten_with_all_of_its_conversations(world: BranchedWorld) -> None:
    """What was left is as much of the chat as what goes on."""
    turn = world.db.execute("SELECT id FROM turn ORDER BY started_at LIMIT 1").get
    world.rewind(str(turn))
    world.have("zebra three")
    forget(world, "zebra")
    assert find_words(world) == set(CHATS) - {"zebra"}


def test_fork_of_a_forgotten_conversation_goes_on_with_its_own(world: BranchedWorld) -> None:
    """It reads no message that is gone, and remembers no call of it."""
    forget(world, "zebra")
    at = Address("web", "local", "operator/fork-1")
    number = world.db.execute("SELECT id FROM session WHERE chat_key = ?", (at.chat_key,)).get
    history = sessions.list_history(world.db, int(number), 50)
    assert [one.content for one in history if one.role == "user"] == ["yak"]
    assert world.call(world.begin(at=at), "pay_bill", bill="ox").question is None


def test_words_of_a_source_leave_the_summary_of_its_fork(world: BranchedWorld) -> None:
    """It is read from the source, and not copied."""
    world.db.execute("UPDATE session SET summary = 'zebra', summary_upto = 1 WHERE id = 1")
    child: ChildSession = world.fork(
        str(world.db.execute("SELECT id FROM turn ORDER BY started_at LIMIT 1").get), "more"
    )
    assert sessions.load_summary(world.db, child.session_id)[0] == "zebra"
    forget(world, "zebra")
    assert sessions.load_summary(world.db, child.session_id)[0] is None
