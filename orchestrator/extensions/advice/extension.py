"""The extension for advice: warnings, and an error for two accounts of one bot."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.extension import Extension
from orchestrator.findings import Finding

if TYPE_CHECKING:
    from orchestrator.agentsfile import AgentsFile, Problem
    from orchestrator.agentsfile.draft import Draft
    from orchestrator.control.protocol import StatusReport
    from orchestrator.prompts.prompt_set import PromptSet
    from orchestrator.prompts.skill_set import SkillSet
    from orchestrator.settings import Settings


class AdviceExtension(Extension):
    """Warns of settings and files that may not do what their author expects."""

    name = "advice"

    def check_agents_file(
        self, draft: "Draft", environ: Mapping[str, str] | None, home: Path | None
    ) -> None:
        from orchestrator.extensions.advice.file_checks import check_file

        check_file(draft, environ, home)

    def check_files(
        self, settings: "Settings", file: "AgentsFile", found: "PromptSet | SkillSet"
    ) -> "Iterable[Problem]":
        from orchestrator.extensions.advice.home_checks import check_home

        return check_home(settings, file, found)

    def list_findings(
        self, settings: "Settings", file: "AgentsFile | None", status: "StatusReport | None"
    ) -> Iterable[Finding]:
        del file, status
        from orchestrator.extensions.advice.open_files import list_open_files

        return [
            Finding("files", f"{path} {text}", "warning")
            for path, text in list_open_files(settings)
        ]
