"""The extension for the workbench: recorded turns, tried again."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.extension import Command, DaemonView, Extension, Part

if TYPE_CHECKING:
    from orchestrator.agentsfile import ConfigModel
    from orchestrator.agentsfile.draft import Draft

COMMANDS = "orchestrator.extensions.workbench.commands"


class WorkbenchExtension(Extension):
    """Runs recorded turns again, without effects, with something changed."""

    name = "workbench"
    file_fields = ("tests",)

    def get_agent_model(self) -> "type[ConfigModel]":
        from orchestrator.extensions.workbench.gate_settings import GateFields

        return GateFields

    def check_agents_file(
        self, draft: "Draft", environ: Mapping[str, str] | None, home: Path | None
    ) -> None:
        del environ, home
        if draft.tests:
            from orchestrator.extensions.workbench.route_tests import check_routes

            check_routes(draft)

    def list_commands(self) -> Mapping[str, Command]:
        return {
            "replay": Command(
                "Agents", "Run a recorded turn again, without effects.", f"{COMMANDS}.replay"
            ),
            "trial": Command(
                "Agents", "Show, stop and go on with trials of turns.", f"{COMMANDS}.trial"
            ),
            "prompt": Command(
                "Agents", "Show, check and compare prompts.", f"{COMMANDS}.prompt_test"
            ),
            "sets": Command("Agents", "Keep turns as tests, in sets of turns.", f"{COMMANDS}.sets"),
        }

    def build_part(self, daemon: DaemonView) -> Part:
        from orchestrator.extensions.workbench.workbench_part import WorkbenchPart

        return WorkbenchPart(daemon)
