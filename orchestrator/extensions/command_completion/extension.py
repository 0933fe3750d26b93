"""The extension for completion in shells: one command."""

from collections.abc import Mapping

from orchestrator.extension import Command, Extension


class CommandCompletionExtension(Extension):
    """Completes commands, agents and prompts at the Tab key."""

    name = "command_completion"

    def list_commands(self) -> Mapping[str, Command]:
        return {
            "completion": Command(
                "Set up",
                "Print a script that completes commands in your shell.",
                "orchestrator.extensions.command_completion.shell_completion",
            )
        }
