"""Which calls of our own tools wait for an operator, once a turn has read text of others."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes.journal import booted, open_turn, planned

from orchestrator.journal.db.database import Database
from orchestrator.journal.turns import taint
from orchestrator.journal.turns.taint import Taint
from orchestrator.toolcalls.provenance import find_objection
from orchestrator.tools.host_tools import list_own_tools
from thinker.protocol.messages import JsonObject

TOOLS = list_own_tools()
FOREIGN = Taint(untrusted={"fetch": "web"})


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    """A journal with the turn ``t1``."""
    with booted(tmp_path) as connection:
        open_turn(connection)
        yield connection


def told(db: Database, name: str, /, **arguments: str | None) -> str | None:
    """Why a call of a tool would wait."""
    given: JsonObject = {**arguments}
    (call,) = planned(db, "t1", name, arguments=given)
    found = find_objection(db, call, TOOLS[name])
    return None if found is None else found.reason


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("store_skill", {"name": "x"}),
        ("update_skill", {"name": "x"}),
        ("delete_skill", {"name": "x"}),
        ("schedule_task", {"name": "x"}),
        ("cancel_task", {"task": "1"}),
        ("delete_fact", {"id": "1"}),
        ("update_fact", {"id": "1"}),
        ("update_profile", {"path": "persona.system_prompt", "value": "x"}),
        ("update_profile", {"path": "persona", "value": "x"}),
        ("update_profile", {"path": "pets[0]", "value": None}),
    ],
)
def test_change_that_lasts_waits_in_a_turn_with_text_of_others(
    db: Database, name: str, arguments: dict[str, str | None]
) -> None:
    """Without such text nothing waits."""
    assert told(db, name, **arguments) is None
    taint.add_taint(db, "t1", FOREIGN)
    assert told(db, name, **arguments) == (
        "this change would last, and the turn has read text from the web (fetch)"
    )


def test_field_of_the_profile_may_be_set(db: Database) -> None:
    """It is data from then on, as a stored fact is."""
    taint.add_taint(db, "t1", FOREIGN)
    assert told(db, "update_profile", path="pets[0]", value="cat") is None


def test_file_may_be_sent_to_the_chat_of_the_reply_alone(db: Database) -> None:
    """In a turn that has read private data and text of others."""
    taint.add_taint(db, "t1", FOREIGN)
    taint.add_taint(db, "t1", Taint(private={"facts": True}))
    assert told(db, "send_file", file="x", chat_id="8") is not None
    assert told(db, "send_file", file="x") is None
