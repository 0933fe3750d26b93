"""The extension that moves agents: subcommands of `agents`, and what a daemon does for them."""

from collections.abc import Mapping

from orchestrator.extension import Command, DaemonView, Extension, Part

COMMANDS = "orchestrator.extensions.relocation.commands"


class RelocationExtension(Extension):
    """Moves an agent with all that is its own to another home or database."""

    name = "relocation"

    def list_commands(self) -> Mapping[str, Command]:
        return {"agents": Command("Agents", "List, pause or resume agents.", f"{COMMANDS}.move")}

    def build_part(self, daemon: DaemonView) -> Part:
        from orchestrator.extensions.relocation.relocation_part import RelocationPart

        return RelocationPart(daemon)
