"""A message that is imagined: the inputs of its turn, and a journal that stays as it is."""

from dataclasses import replace
from pathlib import Path

from fakes.agents_file import WORK, parsed
from fakes.journal import booted, job, read_contents
from fakes.memory import own_of
from fakes.statements import store_fact

from orchestrator.channel_api import InboundMessage
from orchestrator.extensions.prompt_inspector.rehearsal import ImaginedMessage, rehearse_turn
from orchestrator.journal.db.database import Database
from orchestrator.journal.turns import inbox, turns
from orchestrator.journal.turns.inbox import INBOX, Arrival
from orchestrator.journal.turns.turns import TurnAdmission
from orchestrator.spending.spending_rules import SpendingRules
from orchestrator.turns.turn_context import LoopFacts
from orchestrator.turns.turn_inputs import TurnInputs

GROUP = InboundMessage(
    "telegram", "bot", "-5", "1", "77", text="hi", sender_name="Ada", private=False
)
ASKED = ImaginedMessage("work", "and now?", "telegram", "-5")


def rehearsed(db: Database, asked: ImaginedMessage, **fields: object) -> TurnInputs:
    """Rehearse inside a transaction, at second 1, with these fields of the agent."""
    agents = parsed(WORK).file
    found = agents.find_agent("work")
    assert found is not None
    definition = found.model_copy(update=fields)
    with job(db):
        return rehearse_turn(
            db, definition, LoopFacts(SpendingRules(agents, {}, lambda: 1000, 0)), asked
        )


def test_inputs_are_those_of_a_turn_and_nothing_is_written(tmp_path: Path) -> None:
    """Also in a chat whose turn is open, from the person that wrote there last."""
    with booted(tmp_path) as db:
        with job(db):
            (row,) = inbox.ingest(db, [Arrival(GROUP)], None, 1)
            admission = TurnAdmission("t1", "work", 1, 5, "test")
            turns.admit_message(db, INBOX.select(db, "id = ?", row)[0], admission, 1)
        before = read_contents(db)
        found = rehearsed(db, ASKED)
        assert read_contents(db) == before
        (said,) = found.stored.messages
        assert (said.text, said.sender_id, said.private) == ("and now?", "77", False)
        assert found.context.turn.session_id == turns.load_turn(db, "t1").session_id


def test_unknown_chat_is_private_unless_its_id_is_a_groups(tmp_path: Path) -> None:
    """A session is begun for it, and undone."""
    with booted(tmp_path) as db:
        private = rehearsed(db, replace(ASKED, chat_id="5"))
        assert private.context.address.private
        assert not rehearsed(db, ASKED).context.address.private
        assert private.stored.history == ()
        assert db.execute("SELECT count(*) FROM session").get == 0


def test_small_model_has_a_small_card_and_nothing_of_it_is_written(tmp_path: Path) -> None:
    """A quarter of the other's; both begin with what was stored last."""
    with booted(tmp_path) as db:
        for number in range(40):
            store_fact(db, own_of("telegram:5"), f"Fact {number:02} {'x' * 40}", now=number)
        asked = replace(ASKED, chat_id="5")
        cards = [
            [known.fact[:7] for known in rehearsed(db, asked, profile=profile).known.memories]
            for profile in (None, "small")
        ]
        assert [len(card) for card in cards] == [19, 4]
        assert [card[0] for card in cards] == ["Fact 39"] * 2
        assert db.execute("SELECT count(*) FROM memory_card").get == 0
