"""The extension for reports: commands that print what the journal holds, and decide about it."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.extension import Command, DaemonView, Extension, Part

if TYPE_CHECKING:
    from orchestrator.inbound.commands import ChatCommandEntry

REPORTS = {
    "Run": {
        "logs": "Show the daemon's log, or follow it.",
    },
    "Talk": {
        "approvals": "Grant or deny tool calls that wait for approval.",
        "pair": "Decide which chats may talk to the bot.",
        "sessions": "List, show or end conversations.",
        "route": "Show which agent answers a chat.",
    },
    "Agents": {
        "agents": "List, pause or resume agents.",
    },
    "Messages": {
        "dlq": "List, retry or drop messages that were given up.",
        "trace": "Show the history of a message.",
    },
}
"""The commands by their heading on the first screen, each with its summary."""


class ReportsExtension(Extension):
    """Prints what happened, waits, was remembered, as tables and JSON."""

    name = "reports"

    def list_commands(self) -> Mapping[str, Command]:
        return {
            name: Command(group, summary, f"orchestrator.extensions.reports.commands.{name}")
            for group, commands in REPORTS.items()
            for name, summary in commands.items()
        }

    def list_chat_commands(self) -> "Mapping[str, ChatCommandEntry]":
        from orchestrator.extensions.reports.chat_reports import COMMANDS

        return COMMANDS

    def keep_log(self, path: Path, environ: Mapping[str, str]) -> AbstractContextManager[None]:
        from orchestrator.extensions.reports.log_relay import relay_log

        return relay_log(path, environ)

    def build_part(self, daemon: DaemonView) -> Part:
        from orchestrator.extensions.reports.reports_part import ReportsPart

        return ReportsPart(daemon)
