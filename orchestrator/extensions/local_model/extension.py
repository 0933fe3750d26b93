"""The extension for a language model on this machine."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from orchestrator.extension import Command, DaemonView, Extension, Finding, Part

if TYPE_CHECKING:
    from orchestrator.agentsfile import AgentsFile
    from orchestrator.agentsfile.field_types import ConfigModel
    from orchestrator.control.protocol import StatusReport
    from orchestrator.settings import Settings


class LocalModelExtension(Extension):
    """Runs a small model for agents with ``"llmProvider": "local"``."""

    name = "local_model"

    def get_settings_model(self) -> "type[ConfigModel]":
        from orchestrator.extensions.local_model.model_settings import LocalModelSettings

        return LocalModelSettings

    def list_commands(self) -> Mapping[str, Command]:
        return {
            "local-model": Command(
                "Set up",
                'Download a model for the provider "local".',
                "orchestrator.extensions.local_model.commands.local_model",
            )
        }

    def list_findings(
        self, settings: "Settings", file: "AgentsFile | None", status: "StatusReport | None"
    ) -> Iterator[Finding]:
        del status
        from orchestrator.extensions.local_model.server_part import find_problem, uses_local_model

        if file is not None and uses_local_model(file):
            problem = find_problem(file, settings.home)
            yield Finding("local model", problem or "its server and its file are there")

    def build_part(self, daemon: DaemonView) -> Part:
        from orchestrator.extensions.local_model.server_part import LocalModelPart

        return LocalModelPart(daemon)
