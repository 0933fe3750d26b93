"""The extension for rewind and fork: go on from an earlier message, and act only once."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from orchestrator.extension import Command, DaemonView, Extension, Part

if TYPE_CHECKING:
    from orchestrator.inbound.commands import ChatCommandEntry
    from orchestrator.journal.db.database import Database
    from orchestrator.journal.turns.steps import Call
    from thinker.protocol.messages import ToolResult

COMMANDS = "orchestrator.extensions.branches.commands"


class BranchesExtension(Extension):
    """Rewinds and forks conversations, and keeps them from doing anything twice unasked."""

    name = "branches"

    def list_commands(self) -> Mapping[str, Command]:
        return {
            "fork": Command(
                "Talk",
                "Go on from an earlier answer in a new chat.",
                f"{COMMANDS}.fork",
            ),
            "rewind": Command(
                "Talk",
                "Go on from an earlier answer in the same chat.",
                f"{COMMANDS}.rewind",
            ),
        }

    def list_chat_commands(self) -> "Mapping[str, ChatCommandEntry]":
        from orchestrator.extensions.branches import chat_branches
        from orchestrator.inbound.commands import ChatCommandEntry

        return {
            "rewind": ChatCommandEntry(
                chat_branches.REWIND_ABOUT, "talk", chat_branches.answer_rewind
            ),
            "fork": ChatCommandEntry(
                chat_branches.FORK_ABOUT, "operate", chat_branches.answer_fork
            ),
        }

    def judge_call(self, db: "Database", call: "Call") -> "ToolResult | str | None":
        if call.side_effect == "pure":
            return None
        from orchestrator.extensions.branches.line_calls import judge_call

        return judge_call(db, call)

    def build_part(self, daemon: DaemonView) -> Part:
        from orchestrator.extensions.branches.branches_part import BranchesPart

        return BranchesPart(daemon)
