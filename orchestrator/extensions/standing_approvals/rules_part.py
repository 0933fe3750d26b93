"""The methods with which commands and the page list, make and end approvals that stand."""

from collections.abc import Callable, Mapping
from functools import partial

from pydantic import Field, JsonValue

from orchestrator.control.camel_model import CamelModel
from orchestrator.control.protocol import UNKNOWN_NAME
from orchestrator.errors import OrchestratorError, UnknownNameError
from orchestrator.extension import Part
from orchestrator.extensions.standing_approvals import call_rules
from orchestrator.extensions.standing_approvals.call_rules import (
    DAYS,
    MAX_DAYS,
    CallRule,
    RuleOrder,
)
from orchestrator.extensions.standing_approvals.rule_conditions import Scope
from orchestrator.journal.db.database import Database
from thinker.protocol.names import format_chat_name
from thinker.protocol.peer import FAILED, Peer, RequestHandler, RpcError

RULES_LIST = "rules/list"  # → RuleList
RULES_ADD = "rules/add"  # NewRules → RuleList
RULES_REVOKE = "rules/revoke"  # RuleNumber → RuleList


class NewRules(CamelModel):
    """A question to answer for good; with ``args_hash`` only if it is about these calls."""

    code: str
    scope: Scope | None = None
    days: int = Field(default=DAYS, ge=1, le=MAX_DAYS)
    every_chat: bool = False
    args_hash: str | None = None


class RuleNumber(CamelModel):
    """The number of an approval that stands."""

    id: int = Field(ge=0, lt=2**53)


class RuleReport(CamelModel):
    """An approval that stands; times in seconds since the epoch. No chat is every chat."""

    id: int
    agent_id: str
    tool: str
    chat: str | None
    text: str
    by: str
    made_at: float
    ends_at: float
    used: int


class RuleList(CamelModel):
    """Approvals that stand."""

    rules: tuple[RuleReport, ...]


def report_rules(db: Database, now: int) -> RuleList:
    """Return the approvals that stand; ``now`` in milliseconds."""
    return _report(call_rules.list_rules(db, now))


def _report(rules: list[CallRule]) -> RuleList:
    return RuleList(
        rules=tuple(
            RuleReport(
                id=rule.id,
                agent_id=rule.agent_id,
                tool=rule.tool,
                chat=None if rule.chat_key is None else format_chat_name(rule.chat_key),
                text=rule.describe(),
                by=rule.by_user,
                made_at=rule.made_at / 1000,
                ends_at=rule.ends_at / 1000,
                used=rule.used,
            )
            for rule in rules
        )
    )


class RulesPart(Part):
    """Answers for operators, at the terminal and on the page."""

    def list_control_methods(self, peer: Peer | None) -> Mapping[str, RequestHandler]:
        del peer
        return {RULES_LIST: self._list_rules}

    def list_authored_methods(self, by: str) -> Mapping[str, RequestHandler]:
        return {
            RULES_ADD: partial(self._add_rules, by),
            RULES_REVOKE: partial(self._revoke_rule, by),
        }

    async def _list_rules(self, params: JsonValue) -> RuleList:
        del params
        return await self.daemon.store.read(report_rules, self.daemon.machine.clock())

    async def _add_rules(self, by: str, params: JsonValue) -> RuleList:
        asked = NewRules.model_validate(params)
        order = RuleOrder(asked.code, asked.scope, asked.days, asked.every_chat, asked.args_hash)

        def add_rules(db: Database, now: int) -> list[CallRule]:
            return call_rules.add_rules(db, order, by, now)

        return await self._change(add_rules)

    async def _revoke_rule(self, by: str, params: JsonValue) -> RuleList:
        asked = RuleNumber.model_validate(params)

        def revoke_rule(db: Database, now: int) -> list[CallRule]:
            return [call_rules.revoke_rule(db, asked.id, by, now)]

        return await self._change(revoke_rule)

    async def _change(self, change: Callable[[Database, int], list[CallRule]]) -> RuleList:
        daemon = self.daemon
        try:
            rules = await daemon.store.transact(change, daemon.machine.clock())
        except OrchestratorError as error:
            code = UNKNOWN_NAME if isinstance(error, UnknownNameError) else FAILED
            raise RpcError(code, str(error)) from error
        daemon.delivery.wake()
        daemon.approvals.wake()
        return _report(rules)
