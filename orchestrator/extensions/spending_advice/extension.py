"""The extension for advice on spending: forecasts, questions for more money, and savings."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from orchestrator.extension import Command, DaemonView, Extension, Finding, Part

if TYPE_CHECKING:
    from orchestrator.agentsfile import AgentsFile
    from orchestrator.control.protocol import StatusReport
    from orchestrator.inbound.commands import ChatCommandEntry
    from orchestrator.settings import Settings

COMMANDS = "orchestrator.extensions.spending_advice.commands"
NEAR = 0.8  # of a limit, from which on it is worth a line


class SpendingAdviceExtension(Extension):
    """Tells what is spent, what it will come to, and what would make it less."""

    name = "spending_advice"

    def list_commands(self) -> Mapping[str, Command]:
        return {
            "agents": Command("Agents", "List, pause or resume agents.", f"{COMMANDS}.extend"),
            "usage": Command(
                "Agents",
                "Show how many tokens the agents used, and what they cost.",
                f"{COMMANDS}.usage",
            ),
            "budget": Command(
                "Agents",
                "Show limits and forecasts, and raise limits for today.",
                f"{COMMANDS}.budget",
            ),
        }

    def list_chat_commands(self) -> "Mapping[str, ChatCommandEntry]":
        from orchestrator.extensions.spending_advice.chat_costs import COMMANDS

        return COMMANDS

    def list_findings(
        self, settings: "Settings", file: "AgentsFile | None", status: "StatusReport | None"
    ) -> Iterable[Finding]:
        del settings, file
        for use in () if status is None else status.budgets:
            text = f"{use.share:.0%} of the shared limit of this {use.window.lower()} is used"
            advice = "; see: orchestrator budget" if use.share >= NEAR else ""
            yield Finding("budget", text + advice, "warning" if advice else "ok")

    def build_part(self, daemon: DaemonView) -> Part:
        from orchestrator.extensions.spending_advice.spending_part import SpendingAdvicePart

        return SpendingAdvicePart(daemon)
