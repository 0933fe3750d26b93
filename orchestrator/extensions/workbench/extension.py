"""The extension for the workbench: recorded turns, tried again."""

from collections.abc import Mapping

from orchestrator.extension import Command, DaemonView, Extension, Part

COMMANDS = "orchestrator.extensions.workbench.commands"


class WorkbenchExtension(Extension):
    """Runs recorded turns again, without effects, with something changed."""

    name = "workbench"

    def list_commands(self) -> Mapping[str, Command]:
        return {
            "replay": Command(
                "Agents", "Run a recorded turn again, without effects.", f"{COMMANDS}.replay"
            ),
            "trial": Command(
                "Agents", "Show, stop and go on with trials of turns.", f"{COMMANDS}.trial"
            ),
        }

    def build_part(self, daemon: DaemonView) -> Part:
        from orchestrator.extensions.workbench.workbench_part import WorkbenchPart

        return WorkbenchPart(daemon)
