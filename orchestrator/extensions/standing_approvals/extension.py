"""The extension for approvals that stand: an answer to all calls alike, with an end."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from orchestrator.extension import Command, DaemonView, Extension, Part

if TYPE_CHECKING:
    from orchestrator.inbound.commands import ChatCommandEntry
    from orchestrator.journal.db.database import Database
    from orchestrator.journal.turns.approvals import Approval
    from orchestrator.journal.turns.steps import Call
    from orchestrator.toolcalls.argument_sources import ArgumentSource


class StandingApprovalsExtension(Extension):
    """Lets an operator say "always", lists what was allowed so, and ends it."""

    name = "standing_approvals"

    def list_commands(self) -> Mapping[str, Command]:
        return {
            "rules": Command(
                "Talk",
                "List, make and end approvals that stand.",
                "orchestrator.extensions.standing_approvals.commands.rules",
            ),
        }

    def list_chat_commands(self) -> "Mapping[str, ChatCommandEntry]":
        from orchestrator.extensions.standing_approvals.chat_rules import COMMANDS

        return COMMANDS

    def allow_call(
        self, db: "Database", call: "Call", sources: "Mapping[str, ArgumentSource]", now: int
    ) -> bool:
        from orchestrator.extensions.standing_approvals.call_rules import use_rule

        return use_rule(db, call, sources, now)

    def list_answers(self, db: "Database", asked: "Sequence[Approval]") -> Mapping[str, str]:
        del db
        from orchestrator.extensions.standing_approvals.chat_rules import list_answers

        return list_answers(asked)

    def build_part(self, daemon: DaemonView) -> Part:
        from orchestrator.extensions.standing_approvals.rules_part import RulesPart

        return RulesPart(daemon)
