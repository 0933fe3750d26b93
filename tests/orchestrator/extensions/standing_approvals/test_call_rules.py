"""An operator's answer for good is made once, counts its uses, ends, and cannot be forged."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from fakes.agents_file import WORK, validate_file
from fakes.journal import connection_in, job, next_turn, open_turn, planned, store_in, update

from orchestrator.errors import OrchestratorError, UnknownNameError
from orchestrator.extensions.standing_approvals import chat_rules
from orchestrator.extensions.standing_approvals.call_rules import (
    DAY,
    CallRule,
    RuleOrder,
    add_rules,
    list_rules,
    revoke_rule,
    use_rule,
)
from orchestrator.inbound.commands import ChatCommand, DaemonSnapshot
from orchestrator.journal.db.database import Connection
from orchestrator.journal.turns import approvals, inbox
from orchestrator.journal.turns.approvals import Approval, QuestionDetails, Sources
from orchestrator.journal.turns.inbox import Arrival
from orchestrator.journal.turns.steps import Call
from orchestrator.spending.spending_rules import SpendingRules
from orchestrator.toolcalls.argument_sources import ArgumentSource

NOW = 1_770_000_000_000
MINE: Sources = {"n": ("model", "", True)}
OTHERS: Sources = {"n": ("web", "x.org", True)}
SNAPSHOT = DaemonSnapshot("1", 0, {}, {}, {})


@dataclass
class World:
    """A turn of the agent ``work`` in the chat ``telegram:7``."""

    db: Connection

    def ask(self, *, sources: Sources = MINE, may_stand: bool = True, n: int = 1) -> Approval:
        """An open question about paying."""
        (call,) = planned(self.db, "t1", "pay", arguments={"n": n})
        details = QuestionDetails(sources, may_stand)
        with job(self.db):
            return approvals.request_approval(self.db, call, "why", f"c{call.seq}", NOW, details)[0]

    def add(self, asked: Approval, **order: Any) -> list[CallRule]:
        """Answer it for good."""
        with job(self.db):
            return add_rules(self.db, RuleOrder(asked.code, **order), "operator", NOW)

    def use(self, n: int = 1, tool: str = "pay", now: int = NOW, turn: str = "t1") -> bool:
        """Whether a later call needs no question."""
        (call,) = planned(self.db, turn, tool, arguments={"n": n})
        return self.covers(call, now)

    def covers(self, call: Call, now: int = NOW, sources: Any = MINE) -> bool:
        """Whether a call needs no question."""
        told = {path: ArgumentSource(*source) for path, source in sources.items()}
        with job(self.db):
            return use_rule(self.db, call, told, now)

    def say(self, command: str, argument: str, role: Any = "operate") -> str:
        """The answer to a chat command."""
        rules = SpendingRules(validate_file({"agents": [WORK]}), {}, lambda: NOW, NOW)
        message = update(5, f"/{command} {argument}")
        made = ChatCommand(command, argument, message, SNAPSHOT, rules, role)
        with job(self.db):
            return chat_rules.COMMANDS[command].answer(self.db, made)

    def audit(self) -> list[tuple[str, str]]:
        """Who decided what."""
        return [
            (str(actor), str(act))
            for actor, act in self.db.execute("SELECT actor, act FROM audit ORDER BY id")
        ]


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """A turn that has just begun."""
    with closing(store_in(tmp_path)), closing(connection_in(tmp_path)) as db:
        open_turn(db)
        yield World(db)


def test_answer_for_good_grants_its_question_and_all_calls_alike(world: World) -> None:
    """Each use counts, and the audit log names the rule."""
    asked = world.ask()
    (rule,) = world.add(asked)
    found = approvals.find_approval(world.db, asked.code)
    assert found is not None
    assert found.state == "granted"
    assert (rule.tool, rule.arguments, rule.ends_at) == ("pay", {"n": {"is": 1}}, NOW + 30 * DAY)
    assert [world.use(), world.use(), world.use(n=2), world.use(tool="mail")] == [
        *(True, True),
        *(False, False),
    ]
    (used,) = list_rules(world.db, NOW)
    assert (used.used, used.last_used_at) == (2, NOW)
    assert world.audit() == [
        ("operator", "granted pay"),
        ("operator", "made rule 1"),
        ("policy", "allowed pay by rule 1"),
        ("policy", "allowed pay by rule 1"),
    ]


def test_rule_counts_for_its_agent_and_chat_until_its_end(world: World) -> None:
    """Or in every chat, if the operator says so."""
    with job(world.db):
        inbox.ingest(world.db, [Arrival(update(2, chat_id="8"))], None, NOW)
    turn = next_turn(world.db, "t2", "8")
    assert turn is not None
    other = turn.id
    world.add(world.ask(), days=1)
    assert not world.use(turn=other)
    assert not world.use(now=NOW + DAY)
    assert world.use(now=NOW + DAY - 1)
    assert list_rules(world.db, NOW + DAY) == []
    world.add(world.ask(), days=1, every_chat=True)
    assert world.use(turn=other)


def test_rule_of_a_tool_or_chat_covers_what_no_text_of_others_has_touched(world: World) -> None:
    """What the model has chosen itself after reading is still asked about."""
    world.add(world.ask(), scope="tool")
    call, mail = planned(world.db, "t1", "pay", "mail", arguments={"n": 9})
    assert world.covers(call, sources={})
    assert world.covers(call, sources={"n": ("user", "", True)})
    assert not world.covers(call, sources=MINE)
    assert not world.covers(mail, sources={})
    (rule,) = world.add(world.ask(), scope="chat")
    assert rule.tool == "*"
    assert world.covers(mail, sources={})
    assert "may call any tool in telegram:7 until 2026-03-04" in rule.describe()


@pytest.mark.parametrize(("sources", "may_stand"), [(OTHERS, True), (MINE, False)])
def test_question_that_may_not_stand_is_not_answered_for_good(
    world: World, sources: Sources, may_stand: object
) -> None:
    """The journal says what may; the question stays open, and its buttons do not offer it."""
    asked = world.ask(sources=sources, may_stand=bool(may_stand))
    with pytest.raises(OrchestratorError, match="can be approved once only"):
        world.add(asked)
    assert approvals.list_pending_approvals(world.db, NOW) == [asked]
    assert list_rules(world.db, NOW) == []
    assert not world.covers(planned(world.db, "t1", "pay")[0], sources=OTHERS)


def test_question_is_answered_for_good_once_and_as_it_was_seen(world: World) -> None:
    """A code that is unknown or decided is told, as is a question about other calls."""
    asked = world.ask()
    with pytest.raises(UnknownNameError):
        world.add(asked, seen="of other calls")
    world.add(asked, seen=asked.args_hash)
    for code in (asked.code, "nope"):
        with pytest.raises(UnknownNameError, match="no open question"), job(world.db):
            add_rules(world.db, RuleOrder(code), "operator", NOW)
    assert len(list_rules(world.db, NOW)) == 1


def test_question_about_several_calls_makes_a_rule_for_each_recipient(world: World) -> None:
    """The same one again only moves the end."""
    first, second, third = planned(world.db, "t1", "pay", "pay", "pay")
    details = QuestionDetails(MINE, may_stand=True)
    with job(world.db):
        lead, _ = approvals.request_approval(world.db, first, "why", "c0de", NOW, details)
        more = details._replace(asked_with=lead.id)
        for call in (second, third):
            approvals.request_approval(world.db, call, "why", f"c0de.{call.seq}", NOW, more)
    assert [rule.arguments for rule in world.add(lead)] == [{"n": {"is": n}} for n in range(3)]
    (again,) = world.add(world.ask(n=0), days=60)
    assert (again.id, again.ends_at) == (1, NOW + 60 * DAY)
    assert len(list_rules(world.db, NOW)) == 3


def test_ended_rule_allows_nothing(world: World) -> None:
    """It ends once, and the audit log says by whom."""
    (rule,) = world.add(world.ask())
    with job(world.db):
        assert revoke_rule(world.db, rule.id, "telegram:7", NOW).id == rule.id
    assert not world.use()
    with pytest.raises(UnknownNameError, match="no rule 1"):
        revoke_rule(world.db, rule.id, "telegram:7", NOW)
    assert world.audit()[-1] == ("telegram:7", "ended rule 1")


def test_button_and_words_of_a_chat_make_a_rule(world: World) -> None:
    """For operators; the answer says how to end it, and so does /rules."""
    asked = world.ask()
    (command,) = chat_rules.list_answers([asked]).values()
    assert command == f"/approve {asked.code} always recipient"
    words = command.removeprefix("/approve ")
    assert "Only my operator" in world.say("approve", words, "approve")
    assert "recipient, tool or chat" in world.say("approve", f"{asked.code} always me")
    told = world.say("approve", words)
    assert 'work may call pay with "n": 1 in telegram:7 until 2026-03-04' in told
    assert "/rules revoke 1" in told
    assert "no open question" in world.say("approve", words)
    assert world.say("rules", "").startswith("1: work may call pay")
    assert "Write /rules" in world.say("rules", "revoke x")
    assert world.say("rules", "revoke 1").startswith("Ended: work may call pay")
    assert "no rule 1" in world.say("rules", "revoke 1")
    assert world.say("rules", "") == "No approval stands."


def test_other_answers_are_left_to_the_command_itself(world: World) -> None:
    """Granting once, showing, and unknown codes."""
    asked = world.ask()
    assert "page 1 of 1" in world.say("approve", f"show {asked.code}")
    assert world.say("approve", asked.code) == "Granted: pay."
    assert "No call waits" in world.say("approve", asked.code)


def test_answer_for_good_is_offered_as_the_question_allows(world: World) -> None:
    """For the tool where no argument says where a call goes; not where it may not stand."""
    (label, command), *_ = chat_rules.list_answers([world.ask(sources={})]).items()
    assert (label, command.endswith("always tool")) == ("Always for this tool here", True)
    assert chat_rules.list_answers([world.ask(may_stand=False)]) == {}
    assert chat_rules.list_answers([world.ask(), world.ask(may_stand=False)]) == {}
