"""Approvals that stand, in the journal: made with a question's answer, used, listed and ended.

Where: is an approval of all calls alike made and used?
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple

import orjson
from pydantic import Json

from orchestrator.chat_texts import format_on_one_line
from orchestrator.errors import OrchestratorError, UnknownNameError
from orchestrator.extensions.standing_approvals.rule_conditions import (
    IS,
    Scope,
    build_condition,
    is_condition_met,
    is_decided_by_others,
    names_recipient,
)
from orchestrator.journal.db import audit
from orchestrator.journal.db.database import Database, Rows
from orchestrator.journal.turns import approvals, questions
from orchestrator.journal.turns.approvals import Approval
from orchestrator.journal.turns.steps import Call
from orchestrator.toolcalls.argument_sources import ArgumentSource
from thinker.protocol.messages import JsonObject
from thinker.protocol.names import format_chat_name

DAY = 86_400_000  # milliseconds
DAYS, MAX_DAYS = 30, 365  # until the end of a rule
ANY_TOOL = "*"
NO_QUESTION = "no open question has the code {code!r}; see: orchestrator approvals list"
MAY_NOT_STAND = (
    "this can be approved once only: text of others decides where it goes, or it repeats a call"
    " that may have happened; use /approve {code}"
)
NO_RECIPIENT = "nothing in this call says where it goes; allow the tool instead"
NO_RULE = "there is no rule {id}; see: orchestrator rules list"
TOLD_VALUE = 60  # characters of a value in a sentence


@dataclass(frozen=True)
class CallRule:
    """An approval that stands; times in milliseconds. ``chat_key`` None is every chat."""

    id: int
    agent_id: str
    tool: str
    chat_key: str | None
    arguments: Json[JsonObject]
    by_user: str
    made_at: int
    ends_at: int
    used: int
    last_used_at: int | None

    @property
    def subject(self) -> str:
        """What the audit log says of it, which outlives what was forgotten: no values."""
        return f"{self.tool} of agent {self.agent_id}"

    def describe(self) -> str:
        """Say what the rule allows: ``work may call pay with "to": "Ada" in telegram:7``."""
        tool = "any tool" if self.tool == ANY_TOOL else self.tool
        where = (
            "in every chat" if self.chat_key is None else f"in {format_chat_name(self.chat_key)}"
        )
        until = datetime.fromtimestamp(self.ends_at / 1000, UTC)
        return f"{self.agent_id} may call {tool}{self._describe_values()} {where} until {until:%F}"

    def _describe_values(self) -> str:
        told = [
            f"{format_on_one_line(name)}: {_shorten(format_on_one_line(wanted[IS]))}"
            for name, wanted in self.arguments.items()
            if isinstance(wanted, dict) and IS in wanted
        ]
        return f" with {', '.join(told)}" if told else ""


RULES = Rows(CallRule, "standing_approval")


class RuleOrder(NamedTuple):
    """A question to answer for good: ``seen`` as in `questions.decide_question`."""

    code: str
    scope: Scope | None = None  # None: the recipient, or the tool of a call without one
    days: int = DAYS
    every_chat: bool = False
    seen: str | None = None


def add_rules(db: Database, order: RuleOrder, by: str, now: int) -> list[CallRule]:
    """Grant an open question, and approve all calls like its own until the end.

    Raises:
        UnknownNameError: no open question has the code, or it is not about what was seen.
        OrchestratorError: such calls can only be approved once each.
    """
    lead = approvals.find_approval(db, order.code)
    asked = () if lead is None else approvals.load_question(db, lead)
    if not all(one.may_stand and not is_decided_by_others(one.sources or {}) for one in asked):
        raise OrchestratorError(MAY_NOT_STAND.format(code=order.code))
    conditions = [_build_condition_of(one, order.scope) for one in asked]
    granted = questions.decide_question(db, order.code, by, now, granted=True, seen=order.seen)
    if granted is None:
        raise UnknownNameError(NO_QUESTION.format(code=order.code))
    made = dict[int, CallRule]()
    for one, condition in zip(asked, conditions, strict=True):
        rule = _store_rule(db, one, condition, order, by, now)
        made[rule.id] = rule
    for rule in made.values():
        audit.record_decision(db, by, f"made rule {rule.id}", rule.subject, now)
    return [*made.values()]


def use_rule(db: Database, call: Call, sources: Mapping[str, ArgumentSource], now: int) -> bool:
    """Use a rule for a call inside T4; return False if none covers it."""
    told = {path: (one.kind, one.name, one.decides) for path, one in sources.items()}
    agent_id, chat_key = db.execute(
        "SELECT agent_id, chat_key FROM turn WHERE id = ?", (call.turn_id,)
    ).fetchone()
    where = (
        "agent_id = ? AND tool IN(?, ?) AND (chat_key IS NULL OR chat_key = ?) AND ends_at > ?"
        " ORDER BY id"
    )
    for rule in RULES.select(db, where, agent_id, call.name, ANY_TOOL, chat_key, now):
        if is_condition_met(rule.arguments, call.arguments, told):
            db.execute(
                "UPDATE standing_approval SET used = used + 1, last_used_at = ? WHERE id = ?",
                (now, rule.id),
            )
            told_act = f"allowed {call.name} by rule {rule.id}"
            audit.record_decision(db, "policy", told_act, call.idem_key, now)
            return True
    return False


def list_rules(db: Database, now: int) -> list[CallRule]:
    """Return the rules that have not ended, oldest first."""
    return RULES.select(db, "ends_at > ? ORDER BY id", now)


def revoke_rule(db: Database, rule_id: int, by: str, now: int) -> CallRule:
    """End a rule; calls that it has let run stay.

    Raises:
        UnknownNameError: no rule has this number, or it has ended.
    """
    found = RULES.find_first(db, "id = ? AND ends_at > ?", rule_id, now)
    if found is None:
        raise UnknownNameError(NO_RULE.format(id=rule_id))
    db.execute("UPDATE standing_approval SET ends_at = ? WHERE id = ?", (now, rule_id))
    audit.record_decision(db, by, f"ended rule {rule_id}", found.subject, now)
    return found


def choose_scope(asked: Approval) -> Scope:
    """Return whom an answer for good is about: the recipient, or the tool of a call without one."""
    arguments: JsonObject = orjson.loads(asked.arguments)
    return "recipient" if names_recipient(arguments, asked.sources or {}) else "tool"


def _build_condition_of(asked: Approval, scope: Scope | None) -> JsonObject:
    wanted = scope or choose_scope(asked)
    arguments: JsonObject = orjson.loads(asked.arguments)
    found = build_condition(arguments, asked.sources or {}, wanted)
    if found is None:
        raise OrchestratorError(NO_RECIPIENT)
    return found


def _store_rule(
    db: Database, asked: Approval, condition: JsonObject, order: RuleOrder, by: str, now: int
) -> CallRule:
    """Store a rule, or prolong the same one."""
    tool = ANY_TOOL if order.scope == "chat" else asked.tool
    chat = None if order.every_chat else asked.chat_key
    values = (
        asked.agent_id,
        tool,
        chat,
        orjson.dumps(condition, option=orjson.OPT_SORT_KEYS).decode(),
    )
    same = (
        "agent_id = ? AND tool = ? AND ifnull(chat_key, '') = ifnull(?, '') AND arguments = ?"
        " AND ends_at > ?"
    )
    ends = now + order.days * DAY
    found = RULES.find_first(db, same, *values, now)
    if found is None:
        db.execute(
            "INSERT INTO standing_approval(agent_id, tool, chat_key, arguments, by_user, made_at,"
            " ends_at) VALUES(?,?,?,?,?,?,?)",
            (*values, by, now, ends),
        )
        found = RULES.find_first(db, f"{same} ORDER BY id DESC LIMIT 1", *values, now)
    else:
        later = max(found.ends_at, ends)
        db.execute("UPDATE standing_approval SET ends_at = ? WHERE id = ?", (later, found.id))
        found = RULES.find_first(db, "id = ?", found.id)
    assert found is not None  # noqa: S101 - it was stored above
    return found


def _shorten(text: str) -> str:
    return text if len(text) <= TOLD_VALUE else f"{text[:TOLD_VALUE]}…"
