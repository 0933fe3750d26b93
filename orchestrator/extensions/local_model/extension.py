"""The extension for models on this machine: a language model, and one for embeddings."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.extension import Command, DaemonView, Extension, Finding, Part

if TYPE_CHECKING:
    from orchestrator.agentsfile import AgentsFile
    from orchestrator.agentsfile.draft import Draft
    from orchestrator.agentsfile.field_types import ConfigModel
    from orchestrator.control.protocol import StatusReport
    from orchestrator.findings import JailKind, Verdict
    from orchestrator.settings import Settings


class LocalModelExtension(Extension):
    """Runs small models for agents that use ``local`` or ``local-embeddings``."""

    name = "local_model"

    def get_settings_model(self) -> "type[ConfigModel]":
        from orchestrator.extensions.local_model.model_settings import LocalModelSettings

        return LocalModelSettings

    def check_agents_file(
        self, draft: "Draft", environ: Mapping[str, str] | None, home: Path | None
    ) -> None:
        from orchestrator.extensions.local_model.served_programs import check_embeddings

        del environ, home
        check_embeddings(draft)

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
        from orchestrator.extensions.local_model.served_programs import PROGRAMS

        for name, program in PROGRAMS.items():
            if file is not None and program.is_needed(file):
                problem = program.find_problem(file, settings.home)
                verdict: Verdict = "warning" if problem else "ok"
                yield Finding(name, problem or "its server and its file are there", verdict)

    def list_jail_kinds(self) -> "Iterable[JailKind]":
        from orchestrator.extensions.local_model import embedding_server

        return embedding_server.JAIL_KINDS

    def build_part(self, daemon: DaemonView) -> Part:
        from orchestrator.extensions.local_model.server_part import LocalModelPart

        return LocalModelPart(daemon)
