"""The extension for the HTTP API: endpoints for OpenAI's and Anthropic's clients, agents' ports."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.extension import Command, DaemonView, Extension, Finding, Part

if TYPE_CHECKING:
    from orchestrator.agentsfile import AgentsFile, ConfigModel
    from orchestrator.agentsfile.draft import Draft
    from orchestrator.control.protocol import StatusReport
    from orchestrator.settings import Settings
    from orchestrator.turns.recipe import Recipe


class HttpApiExtension(Extension):
    """Endpoints for programs, on one port; other extensions add theirs to it."""

    name = "http_api"

    def list_commands(self) -> Mapping[str, Command]:
        return {
            "api": Command(
                "More",
                "Open or close the OpenAI-compatible endpoints.",
                "orchestrator.extensions.http_api.commands.api",
            ),
        }

    def get_channels_model(self) -> "type[ConfigModel]":
        from orchestrator.extensions.http_api.api_settings import ApiChannels

        return ApiChannels

    def check_agents_file(
        self, draft: "Draft", environ: Mapping[str, str] | None, home: Path | None
    ) -> None:
        from orchestrator.extensions.http_api.api_checks import check_api

        del environ, home
        check_api(draft)

    def list_findings(
        self, settings: "Settings", file: "AgentsFile | None", status: "StatusReport | None"
    ) -> Iterable[Finding]:
        from orchestrator.extensions.http_api.api_findings import list_api_findings

        if file is None:
            return ()
        return list_api_findings(settings, file, running=status is not None)

    def list_recipes(self) -> "Mapping[str, type[Recipe]]":
        from orchestrator.extensions.http_api.request_turn import RequestRecipe

        return {"request": RequestRecipe}

    def build_part(self, daemon: DaemonView) -> Part:
        from orchestrator.extensions.http_api.http_api_part import HttpApiPart

        return HttpApiPart(daemon)
