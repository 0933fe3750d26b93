"""What a turn has read decides which of its calls wait for an operator."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes.journal import booted, open_turn, planned
from fakes.note_tools import TOOLS

from orchestrator.journal.db.database import Database
from orchestrator.journal.turns import taint
from orchestrator.journal.turns.taint import Taint
from orchestrator.toolcalls.provenance import find_objection
from orchestrator.tools.remote_tools import RemoteTool
from thinker.protocol.messages import JsonObject, ToolSpec

PRIVATE = Taint(private={"facts": True})
FOREIGN = Taint(untrusted={"fetch": "web"})


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    """A journal with the turn ``t1``."""
    with booted(tmp_path) as connection:
        open_turn(connection)
        yield connection


def mail(*, carries: bool = True) -> RemoteTool:
    spec = ToolSpec(name="hx_mail", description="", parameters={})
    return RemoteTool(spec, "hx", "mail", 5, keyed=False, carries=carries)


def told(db: Database, name: str, /, **arguments: str | None) -> str | None:
    """Why a call of a built-in tool would wait."""
    given: JsonObject = {**arguments}
    (call,) = planned(db, "t1", name, arguments=given)
    return find_objection(db, call, TOOLS[name])


def test_turn_that_has_read_both_may_not_carry_data_out_and_is_told_why(
    db: Database,
) -> None:
    """Either alone is no reason."""
    (call,) = planned(db, "t1", "hx_mail")
    assert find_objection(db, call, mail()) is None
    taint.add_taint(db, "t1", PRIVATE)
    assert find_objection(db, call, mail()) is None
    taint.add_taint(db, "t1", FOREIGN)
    reason = "this turn has read private data (facts) and text from the web (fetch)"
    assert find_objection(db, call, mail()) == reason
    assert told(db, "send_message", message="x") == reason
    assert find_objection(db, call, mail(carries=False)) is None
    assert told(db, "keep_note", note="x") is None


def test_change_that_lasts_waits_in_a_turn_with_text_of_others(db: Database) -> None:
    """Without such text nothing waits, nor does what lasts as data alone."""
    assert told(db, "erase_note", note="x") is None
    taint.add_taint(db, "t1", FOREIGN)
    assert told(db, "erase_note", note="x") == (
        "this change would last, and the turn has read text from the web (fetch)"
    )
    assert told(db, "keep_note", note="x") is None


def test_many_sources_are_counted(db: Database) -> None:
    """The question stays short."""
    names = [f"notes{number}" for number in range(5)]
    taint.add_taint(db, "t1", FOREIGN)
    taint.add_taint(db, "t1", Taint(private=dict.fromkeys(names, True)))
    (call,) = planned(db, "t1", "hx_mail")
    assert "(notes0, notes1, notes2 and 2 more)" in str(find_objection(db, call, mail()))
