"""spawn_subagent: what it begins, what it refuses, and what it answers."""

from dataclasses import replace

import pytest
from fakes.journal import CLASSES, job
from pydantic import JsonValue

from orchestrator.extensions.subagents.agent_tools import (
    SubagentTool,
    build_create_tool,
    build_message_tool,
)
from orchestrator.extensions.subagents.spawn_subagent import SPAWN_SUBAGENT
from orchestrator.journal.db.database import Database
from orchestrator.journal.turns import steps, subagents
from orchestrator.journal.turns.steps import Call
from orchestrator.journal.turns.subagents import SubagentRun
from orchestrator.tools.builtin.host_tool import ToolContext, ToolFailure
from thinker.formats.prompts.tooluse import (
    SUBAGENT_CREATE,
    SUBAGENT_MESSAGE,
    Resumable,
    SubagentUse,
)
from thinker.protocol.messages import AssistantMessage, JsonObject, ToolCall
from thinker.protocol.methods import PlannedCall, StepCommit


def wanted(db: Database, **arguments: JsonValue) -> Call:
    """A committed call of the tool in turn t1."""
    return of_tool(db, SPAWN_SUBAGENT.spec.name, arguments)


def of_tool(db: Database, name: str, arguments: JsonObject) -> Call:
    """A committed call of a tool in turn t1."""
    commit = StepCommit(
        turn_id="t1",
        response=AssistantMessage(tool_calls=(ToolCall(id="c", name=name),)),
        calls=(PlannedCall(id="c", name=name, arguments=arguments),),
    )
    with job(db):
        (seq,) = steps.plan(db, commit, CLASSES, 1, 1).call_seqs
    call = steps.find_call(db, "t1", seq)
    assert call is not None
    return call


def outcome(db: Database, context: ToolContext, call: Call) -> str | None:
    """What the tool answers now."""
    with job(db):
        return SPAWN_SUBAGENT.begin_or_find_result(db, context, call)


def work(db: Database, call: Call) -> SubagentRun:
    """Return the run that a call has started."""
    found = subagents.find_run_of_call(db, "t1", call.seq)
    assert found is not None
    return found


def ended(
    db: Database, call: Call, state: str, result: str | None, *, failed: bool = False
) -> None:
    """End the work of a call with this state and result."""
    row = work(db, call).inbox_id
    with job(db):
        db.execute("UPDATE inbox SET state = ?, error = 'stopped' WHERE id = ?", (state, row))
        db.execute(
            "UPDATE subagent_run SET result = ?, failed = ? WHERE inbox_id = ?",
            (result, failed, row),
        )


def test_first_call_begins_and_the_next_ones_find_it(db: Database, context: ToolContext) -> None:
    """There is no answer before the subagent ends, and always the same one after that."""
    call = wanted(db, task="count", allowedTools=["get_*"], timeoutMinutes=2, model="m2")
    assert subagents.find_run_of_call(db, "t1", call.seq) is None
    context = replace(context, denied_tools=("send_message",))
    assert [outcome(db, context, call) for _ in range(3)] == [None] * 3
    assert subagents.find_run_of_call(db, "t1", call.seq) is not None
    spec = work(db, call).spec
    assert (spec.allowed_tools, spec.denied_tools) == (("get_*",), ("send_message",))
    assert (spec.timeout_minutes, spec.model) == (2, "m2")
    ended(db, call, "done", "42")
    assert [outcome(db, context, call) for _ in range(2)] == ["42"] * 2
    assert db.execute("SELECT count(*) FROM subagent_run").get == 1


def test_defaults_are_the_seeds(db: Database, context: ToolContext) -> None:
    """Five minutes, the parent's model and tools, and the call waits."""
    call = wanted(db, task="count")
    assert outcome(db, context, call) is None
    run = work(db, call)
    assert run.spec == subagents.SubagentSpec(timeout_minutes=5)
    assert run.wait


def test_call_that_does_not_wait_has_its_answer_at_once(db: Database, context: ToolContext) -> None:
    """With the name under which the result will come."""
    call = wanted(db, task="count", wait=False)
    told = outcome(db, context, call)
    assert told == f"Started subagent work-sub-t1-{call.seq}. Its result will come as a message."


@pytest.mark.parametrize(
    ("state", "result", "words"),
    [
        ("done", "no whales", "Subagent failed: no whales"),
        ("dead", "it died", "Subagent failed: it died"),
        ("cancelled", None, "Subagent failed: stopped"),
    ],
)
def test_failure_is_an_error_result(
    db: Database,
    context: ToolContext,
    state: str,
    result: str | None,
    words: str,
) -> None:
    """The parent's model gets the reason of every failure."""
    call = wanted(db, task="count")
    outcome(db, context, call)
    ended(db, call, state, result, failed=True)
    with pytest.raises(ToolFailure, match=words):
        outcome(db, context, call)


def test_sixth_at_once_is_refused_and_one_that_ended_makes_room(
    db: Database, context: ToolContext
) -> None:
    """All turns of the agent count, those of other agents do not."""
    calls = [wanted(db, task=f"count {number}", wait=False) for number in range(7)]
    for call in calls[:5]:
        outcome(db, context, call)
    with pytest.raises(ToolFailure, match=r"Max 5 concurrent subagents per parent \(current: 5\)"):
        outcome(db, context, calls[5])
    ended(db, calls[0], "done", "42")
    assert outcome(db, context, calls[6]) is not None
    assert subagents.count_open_runs(db, "home") == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"task": " "}, "task is empty"),
        ({"task": "x", "timeoutMinutes": 31}, "timeoutMinutes"),
        ({"task": "x", "timeoutMinutes": 0}, "timeoutMinutes"),
        ({"task": "x", "allowedTools": 5}, "allowedTools"),
        ({"task": "x", "model": 5}, "model"),
    ],
)
def test_bad_argument_is_named(
    db: Database,
    context: ToolContext,
    arguments: dict[str, JsonValue],
    words: str,
) -> None:
    """And nothing is begun."""
    call = wanted(db, **arguments)
    with pytest.raises(ToolFailure, match=words):
        outcome(db, context, call)
    assert subagents.find_run_of_call(db, "t1", call.seq) is None


def test_refusal_for_want_of_room_leaves_no_subagent_that_lives(
    db: Database, context: ToolContext
) -> None:
    """The refusal is committed with its call, which must have written nothing."""
    use = SubagentUse(name="home", blocking=False, resumable=Resumable(receives_messages="side_a"))
    helpers = {"home": SubagentTool(use, "Helps.", None, 5)}
    given: JsonObject = {"agent": "home", "message": "count", "attachments": [], "name": "Ann"}
    first, second = (of_tool(db, SUBAGENT_CREATE, given) for _ in range(2))
    with job(db):
        build_create_tool(helpers).begin_or_find_result(db, context, first)
    (living,) = subagents.list_living_subagents(db, "work", context.address.chat_key)
    for number in range(4):
        outcome(db, context, wanted(db, task=f"count {number}", wait=False))
    more = of_tool(db, SUBAGENT_MESSAGE, {**given, "referenceId": living})
    for tool, call in ((build_create_tool(helpers), second), (build_message_tool(helpers), more)):
        with job(db), pytest.raises(ToolFailure, match="Max 5 concurrent subagents"):
            tool.begin_or_find_result(db, context, call)
    assert list(subagents.list_living_subagents(db, "work", context.address.chat_key)) == [living]
    assert subagents.count_open_runs(db, "work") == 5
