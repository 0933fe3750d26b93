"""What a turn has read decides which of its calls wait for an operator."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes.journal import booted, open_turn, planned

from orchestrator.journal.db.database import Database
from orchestrator.journal.turns import taint
from orchestrator.journal.turns.taint import Taint
from orchestrator.toolcalls.provenance import find_objection
from orchestrator.tools.host_tools import list_own_tools
from orchestrator.tools.remote_tools import RemoteTool
from thinker.protocol.messages import JsonObject, ToolSpec

TOOLS = list_own_tools()

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
    assert told(db, "send_file", file="x", chat_id="8") == reason
    assert told(db, "send_file", file="x") is None  # it goes where the reply goes
    assert find_objection(db, call, mail(carries=False)) is None
    assert told(db, "store_fact", fact="x") is None


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


def test_many_sources_are_counted(db: Database) -> None:
    """The question stays short."""
    names = [f"notes{number}" for number in range(5)]
    taint.add_taint(db, "t1", FOREIGN)
    taint.add_taint(db, "t1", Taint(private=dict.fromkeys(names, True)))
    (call,) = planned(db, "t1", "hx_mail")
    assert "(notes0, notes1, notes2 and 2 more)" in str(find_objection(db, call, mail()))
