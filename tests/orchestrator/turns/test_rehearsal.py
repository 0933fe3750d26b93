"""A message that is imagined: the inputs of its turn, and a journal that stays as it is."""

from dataclasses import replace
from pathlib import Path

from fakes.agents_file import WORK, parsed
from fakes.journal import booted, job

from orchestrator.channel_api import InboundMessage
from orchestrator.journal.db.database import Database
from orchestrator.journal.transfer import TABLES
from orchestrator.journal.turns import inbox, turns
from orchestrator.journal.turns.inbox import INBOX, Arrival
from orchestrator.journal.turns.turns import TurnAdmission
from orchestrator.spending.spending_rules import SpendingRules
from orchestrator.turns.rehearsal import ImaginedMessage, rehearse
from orchestrator.turns.turn_inputs import LoopFacts, TurnInputs

GROUP = InboundMessage(
    "telegram", "bot", "-5", "1", "77", text="hi", sender_name="Ada", private=False
)
ASKED = ImaginedMessage("work", "and now?", "telegram", "-5")


def rehearsed(db: Database, asked: ImaginedMessage) -> TurnInputs:
    """Rehearse inside a transaction, at second 1."""
    agents = parsed(WORK).file
    definition = agents.agent("work")
    assert definition is not None
    with job(db):
        return rehearse(
            db, definition, LoopFacts(SpendingRules(agents, {}, lambda: 1000, 0)), asked
        )


def rows(db: Database) -> dict[str, list[object]]:
    """Everything in the journal, by table."""
    return {name: [*db.execute(f"SELECT * FROM {name}")] for name in TABLES}  # noqa: S608 - names of tables


def test_inputs_are_those_of_a_turn_and_nothing_is_written(tmp_path: Path) -> None:
    """Also in a chat whose turn is open, from the person that wrote there last."""
    with booted(tmp_path) as db:
        with job(db):
            (row,) = inbox.ingest(db, [Arrival(GROUP)], None, 1)
            admission = TurnAdmission("t1", "work", 1, 5, "test")
            turns.admit(db, INBOX.select(db, "id = ?", row)[0], admission, 1)
        before = rows(db)
        found = rehearsed(db, ASKED)
        assert rows(db) == before
        (said,) = found.context.messages
        assert (said.text, said.sender_id, said.private) == ("and now?", "77", False)
        assert found.context.turn.session_id == turns.load(db, "t1").session_id


def test_unknown_chat_is_private_unless_its_id_is_a_groups(tmp_path: Path) -> None:
    """A session is begun for it, and undone."""
    with booted(tmp_path) as db:
        private = rehearsed(db, replace(ASKED, chat_id="5"))
        assert private.address.private
        assert not rehearsed(db, ASKED).address.private
        assert private.context.history == ()
        assert db.execute("SELECT count(*) FROM session").get == 0
