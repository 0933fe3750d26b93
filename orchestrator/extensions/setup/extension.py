"""The extension for setting up: an interview, and the list of providers and models."""

from collections.abc import Mapping

from orchestrator.extension import Command, DaemonView, Extension, Part

COMMANDS = "orchestrator.extensions.setup.commands"


class SetupExtension(Extension):
    """Sets up keys, models and bots, and tries each immediately."""

    name = "setup"

    def list_commands(self) -> Mapping[str, Command]:
        return {
            "init": Command(
                "Set up", "Prepare a home with an agents.json to edit.", f"{COMMANDS}.init"
            ),
            "setup": Command(
                "Set up",
                "Set up keys, a model and a bot, and get a first answer.",
                f"{COMMANDS}.setup",
            ),
            "models": Command(
                "Agents",
                "List providers and models with their prices, or test them.",
                f"{COMMANDS}.models",
            ),
        }

    def build_part(self, daemon: DaemonView) -> Part:
        from orchestrator.extensions.setup.setup_part import SetupPart

        return SetupPart(daemon)
