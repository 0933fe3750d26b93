"""Approvals that stand, in chats: the button and the words that make one, and ``/rules``."""

import re
from collections.abc import Mapping, Sequence
from typing import get_args

from orchestrator.errors import OrchestratorError
from orchestrator.extensions.standing_approvals.call_rules import (
    DAYS,
    RuleOrder,
    add_rules,
    choose_scope,
    list_rules,
    revoke_rule,
)
from orchestrator.extensions.standing_approvals.rule_conditions import Scope
from orchestrator.inbound import commands
from orchestrator.inbound.commands import ChatCommand, ChatCommandEntry
from orchestrator.journal.db.database import Database
from orchestrator.journal.turns.approvals import Approval

SCOPES: Mapping[str, Scope] = {scope: scope for scope in get_args(Scope)}
LABELS: Mapping[Scope, str] = {
    "recipient": "Always for this recipient",
    "tool": "Always for this tool here",
}
HOW = "Write /approve CODE always, and recipient, tool or chat."
HOW_RULES = "Write /rules, or for example /rules revoke 3."
NOT_OPERATOR = "Only my operator may allow calls for good."
NO_RULES = "No approval stands."
_ALWAYS = re.compile(r"(\S+) always(?: (.*))?", re.DOTALL)
_REVOKE = re.compile(r"revoke (\d{1,15})")


def list_answers(asked: Sequence[Approval]) -> dict[str, str]:
    """Return the answer for good to a question, if there may be one."""
    if not all(one.may_stand for one in asked):
        return {}
    scopes = {choose_scope(one) for one in asked}
    scope: Scope = "recipient" if scopes == {"recipient"} else "tool"
    return {LABELS[scope]: f"/approve {asked[0].code} always {scope}"}


def _answer_approve(db: Database, command: ChatCommand) -> str:
    """Answer ``/approve CODE always``, and leave anything else to the command itself."""
    asked = _ALWAYS.fullmatch(" ".join(command.argument.split()))
    if asked is None:
        return commands.COMMANDS["approve"].answer(db, command)
    if command.role != "operate":
        return NOT_OPERATOR
    if asked[2] is not None and asked[2] not in SCOPES:
        return HOW
    order = RuleOrder(asked[1], SCOPES.get(asked[2] or ""))
    try:
        made = add_rules(db, order, command.sender, command.rules.clock())
    except OrchestratorError as error:
        return f"{error}."
    return "\n".join(
        ["Granted, and from now on without a question:"]
        + [f"{rule.describe()} (/rules revoke {rule.id})" for rule in made]
    )


def _answer_rules(db: Database, command: ChatCommand) -> str:
    words, now = " ".join(command.argument.split()), command.rules.clock()
    if not words:
        found = list_rules(db, now)
        lines = [f"{rule.id}: {rule.describe()}; used {rule.used} times" for rule in found]
        return "\n".join([*lines, HOW_RULES]) if lines else NO_RULES
    asked = _REVOKE.fullmatch(words)
    if asked is None:
        return HOW_RULES
    try:
        ended = revoke_rule(db, int(asked[1]), command.sender, now)
    except OrchestratorError as error:
        return f"{error}."
    return f"Ended: {ended.describe()}."


_APPROVE = commands.COMMANDS["approve"]
COMMANDS: Mapping[str, ChatCommandEntry] = {
    "approve": ChatCommandEntry(
        f"{_APPROVE.about}; CODE always: allow calls like it for {DAYS} days",
        _APPROVE.role,
        _answer_approve,
    ),
    "rules": ChatCommandEntry(
        "approvals that stand; revoke NUMBER: end one", "operate", _answer_rules
    ),
}
