"""The extension for the page: a separate process, and its chats."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.extension import Command, DaemonView, Extension, Finding, Part

if TYPE_CHECKING:
    from orchestrator.agentsfile import AgentsFile, ConfigModel
    from orchestrator.agentsfile.draft import Draft
    from orchestrator.control.protocol import StatusReport
    from orchestrator.settings import Settings


class PageExtension(Extension):
    """The web page."""

    name = "page"

    def list_commands(self) -> Mapping[str, Command]:
        return {
            "dashboard": Command(
                "Talk",
                "Open the web page, and decide who may use it.",
                "orchestrator.extensions.page.commands.dashboard",
            ),
        }

    def get_channels_model(self) -> "type[ConfigModel]":
        from orchestrator.extensions.page.page_settings import PageChannels

        return PageChannels

    def check_agents_file(
        self, draft: "Draft", environ: Mapping[str, str] | None, home: Path | None
    ) -> None:
        from orchestrator.extensions.page.page_checks import check_page

        del environ, home
        check_page(draft)

    def list_findings(
        self, settings: "Settings", file: "AgentsFile | None", status: "StatusReport | None"
    ) -> Iterable[Finding]:
        from orchestrator.extensions.page.page_checks import list_page_findings

        if file is None:
            return ()
        hints = () if status is None else status.hints
        return list_page_findings(settings, file, running=status is not None, hints=hints)

    def build_part(self, daemon: DaemonView) -> Part:
        from orchestrator.extensions.page.daemon_side.page_service import PageService

        return PageService(daemon)
