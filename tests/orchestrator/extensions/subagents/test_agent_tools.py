"""notify_parent: a subagent's messages to the agent that it works for."""

import pytest
from fakes.journal import job, planned

from orchestrator.extensions.subagents.agent_tools import NOTIFY
from orchestrator.journal.db.database import Database
from orchestrator.journal.turns import inbox, subagents
from orchestrator.journal.turns.steps import Call
from orchestrator.journal.turns.subagents import SubagentSpec
from orchestrator.tools.builtin.host_tool import ToolContext, ToolFailure


def notify(db: Database, context: ToolContext, call: Call) -> str | None:
    """Return the tool's answer."""
    with job(db):
        return NOTIFY.begin_or_find_result(db, context, call)


def subagent_call(db: Database, context: ToolContext, message: str, *, explicit: bool) -> Call:
    """Return a call of turn t1, which works for a call of its own."""
    parent, call = planned(
        db, "t1", "spawn_subagent", "notify_parent", arguments={"message": message}
    )
    with job(db):
        spec = SubagentSpec(explicit=explicit, keeps=True, name="helper", agent="work")
        reference = subagents.create(db, parent, "work", spec, context.now)
        subagents.begin_run(
            db, parent, reference, context.address, "Work.", context.now, wait=False
        )
        db.execute("UPDATE inbox SET turn_id = 't1' WHERE id = (SELECT inbox_id FROM subagent_run)")
    return call


def reports(db: Database) -> list[str]:
    """Return the messages to the parent agent."""
    rows = db.execute("SELECT text FROM inbox WHERE kind = ? ORDER BY id", (inbox.RESULT,))
    return [str(text) for (text,) in rows]


def test_turn_of_no_subagent_cannot_notify_a_parent(db: Database, context: ToolContext) -> None:
    """The failure says that no message is needed."""
    (call,) = planned(db, "t1", "notify_parent", arguments={"message": "Half done."})
    with pytest.raises(ToolFailure, match="this subagent reports automatically"):
        notify(db, context, call)


def test_subagent_that_reports_automatically_cannot_notify_its_parent(
    db: Database, context: ToolContext
) -> None:
    """Its result is the only message."""
    call = subagent_call(db, context, "Half done.", explicit=False)
    with pytest.raises(ToolFailure, match="notify_parent is not available"):
        notify(db, context, call)
    assert reports(db) == []


def test_parent_gets_each_message_once(db: Database, context: ToolContext) -> None:
    """A call that is repeated after a crash posts nothing new."""
    call = subagent_call(db, context, "Half done.", explicit=True)
    for _ in range(2):
        assert notify(db, context, call) == "Your parent agent was notified."
    (report,) = reports(db)
    assert report.endswith("Half done.")


def test_empty_message_is_refused(db: Database, context: ToolContext) -> None:
    """The parent gets nothing."""
    call = subagent_call(db, context, " ", explicit=True)
    with pytest.raises(ToolFailure, match="message is empty"):
        notify(db, context, call)
    assert reports(db) == []
